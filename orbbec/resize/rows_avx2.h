// Sums of uint8 rows on AVX2. Included by resize_avx2.cpp, under its target.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstring>

#include "rows_vectors.h"

namespace orbbec {
namespace {

constexpr int kColumnsBeyond = 16;  // padding of the coefficients: columns are summed together

// The pair of each channel of two neighboring pixels of 3 or 4 bytes, as 16-bit numbers.
inline __m256i channel_pairs(int lanes) {
  const __m128i of_3 = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m128i of_4 = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
  return _mm256_broadcastsi128_si256(lanes == 3 ? of_3 : of_4);
}

// 8 bytes at `low` and at `high`, one half of the vector each.
inline __m256i two_loads(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(low))),
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(high)), 1);
}

inline int32_t pair_of(int32_t low, int32_t high) {
  return static_cast<int32_t>((static_cast<uint32_t>(high) << 16) |
                              (static_cast<uint32_t>(low) & 0xffffu));
}

template <class F, class Op>
class Avx2Rows;

// Linear: a pixel of all channels is one multiplication of pairs, as are four pixels of a plane.
template <class Op>
class Avx2Rows<FixedLinear, Op> : public ScalarRows<FixedLinear, Op> {
  using Base = ScalarRows<FixedLinear, Op>;
  using Base::v;

 public:
  explicit Avx2Rows(const StripView<Op>& view) : Base(view) {
    if (!is_packed(v) && !is_plane(v)) return;
    const int columns = (v.to.width + 3) / 4 * 4 + kColumnsBeyond;
    const int copies = is_plane(v) ? 1 : 4;
    weights_.resize(static_cast<size_t>(copies) * columns);
    offsets_.resize(columns);
    for (int x = 0; x < columns; ++x) {
      const auto taps = v.taps_x(std::min(x, v.to.width - 1));
      offsets_[x] = taps.first * v.lanes;
      std::fill_n(
          weights_.begin() + copies * x, copies,
          pair_of(static_cast<int32_t>(taps.weights[0]), static_cast<int32_t>(taps.weights[1])));
    }
    if (is_plane(v)) set_indices();
  }

  static void blocks(const StripView<Op>& view, int begin, int end) {
    block_rows(view, begin, end);
  }

  int64_t reach() const { return offsets_.empty() ? 0 : int64_t{offsets_.back()} + 16; }

  void horizontal(const uint8_t* row, int begin, int end, int16_t* sums) const {
    if (is_plane(v)) {
      return near_ ? horizontal_plane<true>(row, begin, end, sums)
                   : horizontal_plane<false>(row, begin, end, sums);
    }
    if (!is_packed(v)) return Base::horizontal(row, begin, end, sums);
    sum_pixels<1>({row}, begin, end, {sums});
  }

  // Of rows longer than a page, two at a time: twice as many of their lines are loaded at once.
  bool takes_pairs() const { return is_packed(v) && int64_t{v.from.width} * v.lanes > kPage; }
  void horizontal_pair(const uint8_t* row, const uint8_t* next, int begin, int end, int16_t* sums,
                       int16_t* next_sums) const {
    sum_pixels<2>({row, next}, begin, end, {sums, next_sums});
  }

  void vertical(const typename Base::SumTaps& taps, const int16_t* const* rows, int begin,
                int64_t count, uint8_t* values) const {
    const int16_t* const above = rows[0];
    const int16_t* const below = taps.count > 1 ? rows[1] : rows[0];
    const __m256i w0 = _mm256_set1_epi16(static_cast<int16_t>(taps.weights[0]));
    const __m256i w1 = _mm256_set1_epi16(static_cast<int16_t>(taps.weights[1]));
    const auto blend_32 = [&](int64_t i, uint8_t* to) {
      const __m256i bytes = _mm256_packus_epi16(blended(above + i, below + i, w0, w1),
                                                blended(above + i + 16, below + i + 16, w0, w1));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(bytes, 0xd8));
    };
    int64_t i = 0;
    for (; i + 32 <= count; i += 32) blend_32(i, values + i);
    if (i == count) return;
    uint8_t rest[32];
    blend_32(i, rest);
    std::copy_n(rest, count - i, values + i);
  }

 private:
  static constexpr int64_t kPage = 4096;

  template <int kRows>
  void sum_pixels(const std::array<const uint8_t*, kRows>& rows, int begin, int end,
                  const std::array<int16_t*, kRows>& sums) const {
    const __m256i pairs = channel_pairs(v.lanes);
    const __m256i packed = _mm256_broadcastsi128_si256(
        v.lanes == 3 ? _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1)
                     : _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    for (int x = begin; x < end; x += 4) {
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        const __m256i low = two_columns(rows[r], x, pairs);
        const __m256i high = two_columns(rows[r], x + 2, pairs);
        const __m256i four = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
        const __m256i values = _mm256_shuffle_epi8(four, packed);
        int16_t* const to = sums[r] + static_cast<int64_t>(x - begin) * v.lanes;
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(values));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * v.lanes),
                         _mm256_extracti128_si256(values, 1));
      }
    }
  }

  __m256i two_columns(const uint8_t* row, int x, __m256i pairs) const {
    const __m256i pixels = two_loads(row + offsets_[x], row + offsets_[x + 1]);
    const __m256i weights =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights_.data() + 4 * int64_t{x}));
    return _mm256_srai_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(pixels, pairs), weights), 4);
  }

  // The byte indices of each column's two pixels, as 16-bit numbers: within the 16 bytes from the
  // first of four columns on or, if they are too far apart, within four bytes of each column.
  void set_indices() {
    for (size_t x = 0; x < offsets_.size(); x += 4)
      near_ = near_ && offsets_[x + 3] - offsets_[x] + 1 < 16;
    for (size_t x = 0; x < offsets_.size(); ++x) {
      const int index = near_ ? offsets_[x] - offsets_[x / 4 * 4] : static_cast<int>(x % 4 * 4);
      for (const int byte : {index, -1, index + 1, -1})
        indices_.push_back(static_cast<int8_t>(byte));
    }
  }

  // Sixteen columns at a time.
  template <bool kNear>
  void horizontal_plane(const uint8_t* row, int begin, int end, int16_t* sums) const {
    for (int x = begin; x < end; x += 16) {
      const __m256i words =
          _mm256_packs_epi32(eight_columns<kNear>(row, x), eight_columns<kNear>(row, x + 8));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + (x - begin)),
                          _mm256_permute4x64_epi64(words, 0xd8));
    }
  }

  template <bool kNear>
  __m256i eight_columns(const uint8_t* row, int x) const {
    const __m256i pixels = _mm256_inserti128_si256(
        _mm256_castsi128_si256(four_columns<kNear>(row, x)), four_columns<kNear>(row, x + 4), 1);
    const __m256i indices =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices_.data() + 4 * int64_t{x}));
    const __m256i weights =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights_.data() + x));
    return _mm256_srai_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(pixels, indices), weights), 4);
  }

  template <bool kNear>
  __m128i four_columns(const uint8_t* row, int x) const {
    const int* const at = offsets_.data() + x;
    if (kNear) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + at[0]));
    // Not a gather, which is slower on many CPUs.
    const auto four_bytes = [&](int i) {
      int bytes;
      memcpy(&bytes, row + at[i], sizeof(bytes));
      return bytes;
    };
    return _mm_setr_epi32(four_bytes(0), four_bytes(1), four_bytes(2), four_bytes(3));
  }

  static __m256i blended(const int16_t* above, const int16_t* below, __m256i w0, __m256i w1) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(above));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(below));
    const __m256i sum = _mm256_add_epi16(_mm256_mulhi_epi16(a, w0), _mm256_mulhi_epi16(b, w1));
    return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
  }

  std::vector<int32_t> weights_;
  std::vector<int> offsets_;
  bool near_ = true;             // for a plane: whether 16 bytes hold the pixels of four columns
  std::vector<int8_t> indices_;  // for a plane
};

// Area: the row is converted to floats first, so that a tap is one load of all channels, or four
// taps of a plane are. Every column gets the same number of taps: additional taps of weight 0 do
// not change sums of finite non-negative numbers.
template <class Op>
class Avx2Rows<AreaTaps<uint8_t>, Op> : public VectorRows<AreaTaps<uint8_t>, Op> {
  using Base = VectorRows<AreaTaps<uint8_t>, Op>;
  using Base::taps_;
  using Base::v;

 public:
  explicit Avx2Rows(const StripView<Op>& view) : Base(view) {
    if (!is_packed(v) && !is_plane(v)) return;
    if (is_plane(v)) taps_ = round_up(taps_, 4);
    const int columns = round_up(v.to.width, kPlaneColumns);
    weights_.assign(static_cast<size_t>(columns) * taps_, 0.0f);
    offsets_.resize(columns);
    for (int x = 0; x < v.to.width; ++x) {
      const auto taps = v.taps_x(x);
      offsets_[x] = taps.first * v.lanes;
      for (int k = 0; k < taps.count; ++k) weights_[weight_index(x, k)] = taps.weights[k];
    }
    const int64_t capacity = (int64_t{v.from.width} + taps_) * v.lanes + 16;
    floats_.reset(new float[capacity]());
  }

  void horizontal(const uint8_t* row, int begin, int end, float* sums) const {
    if (!is_packed(v) && !is_plane(v)) return Base::horizontal(row, begin, end, sums);
    const auto last = v.taps_x(end - 1);
    to_floats(row, offsets_[begin], (int64_t{last.first} + last.count) * v.lanes);
    if (is_plane(v)) return sum_plane(begin, end, sums);
    switch (taps_) {
      case 2:
        return sum_columns<2>(begin, end, sums);
      case 3:
        return sum_columns<3>(begin, end, sums);
      case 4:
        return sum_columns<4>(begin, end, sums);
      default:
        return sum_columns<0>(begin, end, sums);
    }
  }

  void vertical(const Taps<float>& taps, const float* const* rows, int begin, int64_t count,
                uint8_t* values) const {
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
      const __m256i words =
          _mm256_packs_epi32(column_sums(taps, rows, i), column_sums(taps, rows, i + 8));
      const __m256i ordered = _mm256_permute4x64_epi64(words, 0xd8);
      _mm_storeu_si128(
          reinterpret_cast<__m128i*>(values + i),
          _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)));
    }
    for (; i < count; ++i)
      values[i] = AreaTaps<uint8_t>::vertical(taps, false, [&](int k) { return rows[k][i]; });
  }

 private:
  static constexpr int kPlaneColumns = 8;  // summed together

  // In a plane: 4 taps of columns 0, 4, 1, 5, 2, 6, 3, 7 of eight columns, then the next 4 taps.
  int64_t weight_index(int64_t x, int k) const {
    if (!is_plane(v)) return x * taps_ + k;
    const int64_t column = x % kPlaneColumns;
    return (x - column) * taps_ + k / 4 * 4 * kPlaneColumns + column % 4 * 8 + column / 4 * 4 +
           k % 4;
  }

  void sum_plane(int begin, int end, float* sums) const {
    for (int x = begin; x < end; x += kPlaneColumns) {
      const float* weights = weights_.data() + int64_t{x} * taps_;
      __m256 sum = _mm256_setzero_ps();
      for (int k = 0; k < taps_; k += 4, weights += 4 * kPlaneColumns) {
        const float* const first = floats_.get() + k;
        const auto products = [&](int i) {
          const __m256 pixels =
              _mm256_loadu2_m128(first + offsets_[x + i + 4], first + offsets_[x + i]);
          return _mm256_mul_ps(pixels, _mm256_loadu_ps(weights + 8 * i));
        };
        sum = add_taps(sum, products(0), products(1), products(2), products(3));
      }
      _mm256_storeu_ps(sums + (x - begin), sum);
    }
  }

  // Adds the taps of four columns in each half of the vectors, in order: a to d have a column each.
  static __m256 add_taps(__m256 sum, __m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);
    const __m256 cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab_low, cd_low, 0x44));
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab_low, cd_low, 0xee));
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
    return _mm256_add_ps(sum, _mm256_shuffle_ps(ab_high, cd_high, 0xee));
  }

  // kTaps: the number of taps, 0 if known only at run time.
  template <int kTaps>
  void sum_columns(int begin, int end, float* sums) const {
    const int taps = kTaps > 0 ? kTaps : taps_, lanes = v.lanes;
    const float* weights = weights_.data() + int64_t{begin} * taps;
    for (int x = begin; x < end; ++x, weights += taps, sums += lanes) {
      const float* pixel = floats_.get() + offsets_[x];
      __m128 sum = _mm_setzero_ps();
#pragma GCC unroll 4
      for (int k = 0; k < taps; ++k, pixel += lanes)
        sum = _mm_add_ps(sum, _mm_mul_ps(_mm_loadu_ps(pixel), _mm_set1_ps(weights[k])));
      _mm_storeu_ps(sums, sum);
    }
  }

  void to_floats(const uint8_t* row, int64_t begin, int64_t count) const {
    int64_t i = begin;
    for (; i + 8 <= count; i += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + i));
      _mm256_storeu_ps(floats_.get() + i, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)));
    }
    for (; i < count; ++i) floats_[i] = row[i];
  }

  static __m256i column_sums(const Taps<float>& taps, const float* const* rows, int64_t i) {
    __m256 sum = _mm256_mul_ps(_mm256_set1_ps(taps.weights[0]), _mm256_loadu_ps(rows[0] + i));
    for (int k = 1; k < taps.count; ++k) {
      const __m256 term =
          _mm256_mul_ps(_mm256_set1_ps(taps.weights[k]), _mm256_loadu_ps(rows[k] + i));
      sum = _mm256_add_ps(sum, term);
    }
    return _mm256_cvtps_epi32(sum);
  }

  std::vector<float> weights_;
  std::vector<int> offsets_;
  std::unique_ptr<float[]> floats_;
};

}  // namespace
}  // namespace orbbec
