// Integer sums of uint8 rows on AVX2: 16-bit products in pairs. Included by resize_avx2.cpp, under
// its target.
#pragma once

#include <immintrin.h>

#include "rows_vectors.h"

namespace orbbec {
namespace {

template <class F>
constexpr bool kHasFloatBody = false;
template <>
inline constexpr bool kHasFloatBody<FixedTaps<true>> = true;

// The columns that read inside the image: eight at a time for planes, one for interleaved pixels.
template <class F, class Op>
class ByteRows : public VectorRows<F, Op> {
  using Base = VectorRows<F, Op>;
  using Base::begin_;
  using Base::end_;
  using Base::taps_;
  using Base::v;

 public:
  using typename Base::Row;
  using typename Base::SumTaps;
  static_assert(sizeof(Row) == 4);

  explicit ByteRows(const StripView<Op>& view)
      : Base(view), capacity_(taps_ <= 4 ? 4 : 8), columns_(std::max(0, end_ - begin_)) {
    if (!has_pairs()) return;
    weights_.resize(static_cast<size_t>(columns_ + kTogether) * capacity_);
    first_.resize(columns_ + kTogether);
    for (int i = 0; i < columns_ + kTogether && columns_ > 0; ++i) {
      const auto taps = v.taps_x(begin_ + std::min(i, columns_ - 1));
      first_[i] = taps.first * v.lanes;
      for (int k = 0; k < taps.count; ++k)
        weights_[static_cast<size_t>(i) * capacity_ + k] = static_cast<int16_t>(taps.weights[k]);
    }
  }

  int64_t reach() const {
    return has_pairs() && columns_ > 0 ? int64_t{first_.back()} + 2 * kBytes : Base::reach();
  }

  void horizontal(const uint8_t* row, int begin, int end, Row* sums) const {
    if (!has_pairs()) return Base::horizontal(row, begin, end, sums);
    Base::horizontal_in(row, begin, end, sums, [&](int first, int last, Row* to) {
      if (v.lanes == 3) {
        sum_pixels<3>(row, first - begin_, last - begin_, to);
      } else if (v.lanes == 4) {
        sum_pixels<4>(row, first - begin_, last - begin_, to);
      } else {
        sum_plane(row, first - begin_, last - begin_, to);
      }
    });
  }

  void vertical(const SumTaps& taps, const Row* const* rows, int begin, int64_t count,
                uint8_t* values) const {
    const int64_t body = Base::body_of(begin, count);
    int64_t done = 0;
    if constexpr (kHasFloatBody<F>) {
      if (taps.count == 4) done = sum_floats_vertical(taps, rows, body, values);
    }
    Base::sum_vertical(taps, rows, done, body, count, values);
  }

 private:
  static constexpr int kBytes = 16;    // per load
  static constexpr int kTogether = 8;  // columns of a plane

  bool has_pairs() const { return is_packed(v) || is_plane(v); }

  static __m128i load(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }

  template <int kLanes>
  void sum_pixels(const uint8_t* row, int begin, int end, Row* sums) const {
    if (taps_ <= 2) return sum_pixels<kLanes, 2>(row, begin, end, sums);
    if (taps_ <= 4) return sum_pixels<kLanes, 4>(row, begin, end, sums);
    sum_pixels<kLanes, 8>(row, begin, end, sums);
  }

  template <int kLanes, int kTaps>
  void sum_pixels(const uint8_t* row, int begin, int end, Row* sums) const {
    const auto index = [](int pixel, int lane) {
      return static_cast<char>(lane < kLanes ? pixel * kLanes + lane : -1);
    };
    const auto pairs = [&](int pixel) {  // pairs of neighbors of each channel as 16-bit numbers
      const char a = index(pixel, 0), b = index(pixel, 1), c = index(pixel, 2), d = index(pixel, 3);
      const char e = index(pixel + 1, 0), f = index(pixel + 1, 1), g = index(pixel + 1, 2),
                 h = index(pixel + 1, 3);
      return _mm_setr_epi8(a, -1, e, -1, b, -1, f, -1, c, -1, g, -1, d, -1, h, -1);
    };
    const __m128i near = pairs(0), far = pairs(2);
    for (int i = begin; i < end; ++i, sums += kLanes) {
      const uint8_t* const pixels = row + first_[i];
      const int16_t* const weights = weights_.data() + int64_t{i} * (kTaps <= 4 ? 4 : 8);
      const auto product = [&](__m128i bytes, __m128i order, int tap) {
        return _mm_madd_epi16(
            _mm_shuffle_epi8(bytes, order),
            _mm_castps_si128(_mm_load1_ps(reinterpret_cast<const float*>(weights + tap))));
      };
      const __m128i four = load(pixels);
      __m128i sum = product(four, near, 0);
      if constexpr (kTaps > 2) sum = _mm_add_epi32(sum, product(four, far, 2));
      if constexpr (kTaps > 4) {
        const __m128i more = load(pixels + 4 * kLanes);
        sum = _mm_add_epi32(sum, product(more, near, 4));
        sum = _mm_add_epi32(sum, product(more, far, 6));
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), sum);
    }
  }

  void sum_plane(const uint8_t* row, int begin, int end, Row* sums) const {
    for (int i = begin; i < end; i += kTogether) {
      const __m256i four = capacity_ == 4 ? four_columns(row, i) : pairs_of_pairs(row, i);
      const __m256i more = capacity_ == 4 ? four_columns(row, i + 4) : pairs_of_pairs(row, i + 4);
      const __m256i eight = _mm256_permute4x64_epi64(_mm256_hadd_epi32(four, more), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + (i - begin)), eight);
    }
  }

  // Products of 16 bytes with the weights from column i on, neighbors summed.
  __m256i products(__m128i bytes, int i) const {
    const int16_t* const weights = weights_.data() + int64_t{i} * capacity_;
    return _mm256_madd_epi16(_mm256_cvtepu8_epi16(bytes),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
  }

  // Two sums for each of four columns, four taps each.
  __m256i four_columns(const uint8_t* row, int i) const {
    const auto four_bytes = [&](int column) {
      int bytes;
      memcpy(&bytes, row + first_[column], sizeof(bytes));
      return bytes;
    };
    return products(
        _mm_setr_epi32(four_bytes(i), four_bytes(i + 1), four_bytes(i + 2), four_bytes(i + 3)), i);
  }

  // The same for eight taps.
  __m256i pairs_of_pairs(const uint8_t* row, int i) const {
    const auto two_columns = [&](int column) {
      const auto eight_bytes = [&](int at) {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + first_[at]));
      };
      return products(_mm_unpacklo_epi64(eight_bytes(column), eight_bytes(column + 1)), column);
    };
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(two_columns(i), two_columns(i + 2)), 0xd8);
  }

  // Body values of cubic rows; returns where the body ends.
  static int64_t sum_floats_vertical(const SumTaps& taps, const Row* const* rows, int64_t body,
                                     uint8_t* values) {
    const int last = taps.count - 1;
    __m256 weights[4];
    for (int k = 0; k <= last; ++k)
      weights[k] = _mm256_set1_ps(static_cast<float>(taps.weights[k]) * F::kUnit);
    const auto eight = [&](int64_t i) {
      const auto product = [&](int k) {
        const auto* const from = reinterpret_cast<const __m256i*>(rows[k] + i);
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_loadu_si256(from)), weights[k]);
      };
      __m256 sum = product(last);
      for (int k = last - 1; k >= 0; --k) sum = _mm256_add_ps(product(k), sum);
      return _mm256_cvtps_epi32(sum);
    };
    int64_t i = 0;
    for (; i + 16 <= body; i += 16) {
      const __m256i words =
          _mm256_permute4x64_epi64(_mm256_packs_epi32(eight(i), eight(i + 8)), 0xd8);
      _mm_storeu_si128(
          reinterpret_cast<__m128i*>(values + i),
          _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    }
    return i;
  }

  int capacity_, columns_;  // taps per column; columns that read inside the image
  std::vector<int> first_;  // values before the first tap
  std::vector<int16_t> weights_;
};

}  // namespace
}  // namespace orbbec
