#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512vnni")
#include "rows_avx2.h"

namespace orbbec {
namespace {

template <class F, class Op>
class VnniRows;

// Pillow: a weight of 24 bits is three digits of 8 bits, so that a sum is that of products of
// bytes, four taps in one instruction.
template <class Op>
class VnniRows<PillowFixed, Op> : public PlainRows<PillowFixed, Op> {
  using Base = PlainRows<PillowFixed, Op>;
  using Base::v;

 public:
  explicit VnniRows(const StripView<Op>& view) : Base(view) {
    if (!is_packed(v)) return;
    int taps = 1;
    for (int x = 0; x < v.to.width; ++x) taps = std::max(taps, v.taps_x(x).count);
    groups_ = (taps + 3) / 4;
    const int columns = whole_groups(v.to.width);
    offsets_.resize(columns);
    weights_.resize(static_cast<size_t>(columns) * groups_ * kDigits * 4);
    for (int x = 0; x < v.to.width; ++x) {
      offsets_[x] = v.taps_x(x).first * v.lanes;
      for (int g = 0; g < groups_; ++g) {
        const Digits digits = digits_of(v.taps_x(x), 4 * g);
        for (int d = 0; d < kDigits; ++d) {
          const int64_t vector = (int64_t{x / 4} * groups_ + g) * kDigits + d;
          std::fill_n(weights_.begin() + 16 * vector + x % 4 * 4, 4, digits.four_taps[d]);
        }
      }
    }
  }

  int64_t reach() const {
    return offsets_.empty() ? 0 : offsets_[v.to.width - 1] + (groups_ - 1) * 4 * v.lanes + 16;
  }

  void across(const uint8_t* row, int begin, int end, uint8_t* sums) const {
    if (!is_packed(v)) return Base::across(row, begin, end, sums);
    for (int x = begin; x < end; x += 4, sums += 4 * v.lanes) sum_columns(row, x, sums);
  }

  void down(const Taps<int32_t>& taps, const uint8_t* const* rows, int begin, int64_t count,
            uint8_t* values) const {
    if (count < kColumns) return Base::down(taps, rows, begin, count, values);
    for (int64_t i = 0; i < count; i += kColumns)  // the last group overlaps the one before
      sum_rows(taps, rows, std::min(i, count - kColumns), values);
  }

 private:
  static constexpr int kDigits = 3;
  static constexpr int kColumns = 64;

  struct Digits {
    int32_t four_taps[kDigits];  // a byte a tap
  };

  // From -128 to 127 each, the lowest first.
  static Digits digits_of(const Taps<int32_t>& taps, int first) {
    uint32_t bytes[kDigits] = {};
    for (int k = 0; k < 4 && first + k < taps.count; ++k) {
      int32_t rest = taps.weights[first + k];
      for (int d = 0; d < kDigits; ++d) {
        const int8_t digit = static_cast<int8_t>(rest);
        bytes[d] |= static_cast<uint32_t>(static_cast<uint8_t>(digit)) << (8 * k);
        rest = (rest - digit) >> 8;
      }
    }
    Digits digits;
    for (int d = 0; d < kDigits; ++d) digits.four_taps[d] = static_cast<int32_t>(bytes[d]);
    return digits;
  }

  static __m512i rounded(const __m512i (&sums)[kDigits]) {
    const __m512i high = _mm512_add_epi32(_mm512_slli_epi32(sums[2], 8), sums[1]);
    const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high, 8), sums[0]);
    return _mm512_srai_epi32(sum, 22);
  }

  static void clear(__m512i (&sums)[kDigits]) {
    sums[0] = _mm512_set1_epi32(1 << 21);
    sums[1] = sums[2] = _mm512_setzero_si512();
  }

  static __m128i load(const uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  }

  // Four columns; 16 bytes are written for their 12 or 16.
  void sum_columns(const uint8_t* row, int x, uint8_t* to) const {
    const bool rgb = v.lanes == 3;
    const __m512i taps_together = _mm512_broadcast_i32x4(
        rgb ? _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1)
            : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const int* const at = offsets_.data() + x;
    const int32_t* weights = weights_.data() + int64_t{x / 4} * groups_ * kDigits * 16;
    __m512i sums[kDigits];
    clear(sums);
    for (int g = 0; g < groups_; ++g, row += 4 * v.lanes) {
      __m512i pixels = _mm512_castsi128_si512(load(row + at[0]));
      pixels = _mm512_inserti32x4(pixels, load(row + at[1]), 1);
      pixels = _mm512_inserti32x4(pixels, load(row + at[2]), 2);
      pixels = _mm512_inserti32x4(pixels, load(row + at[3]), 3);
      pixels = _mm512_shuffle_epi8(pixels, taps_together);
      for (int d = 0; d < kDigits; ++d, weights += 16)
        sums[d] = _mm512_dpbusd_epi32(sums[d], pixels, _mm512_loadu_si512(weights));
    }
    const __m512i positive = _mm512_max_epi32(rounded(sums), _mm512_setzero_si512());
    const __m128i bytes = _mm512_cvtusepi32_epi8(positive);
    const __m128i packed = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), rgb ? _mm_shuffle_epi8(bytes, packed) : bytes);
  }

  static void sum_rows(const Taps<int32_t>& taps, const uint8_t* const* rows, int64_t i,
                       uint8_t* values) {
    __m512i sums[4][kDigits];  // of the columns 4 q to 4 q + 3 of each 16
    for (auto& quarter : sums) clear(quarter);
    for (int k = 0; k < taps.count; k += 4) {
      const int last = taps.count - 1;
      const __m512i a = _mm512_loadu_si512(rows[k] + i);
      const __m512i b = _mm512_loadu_si512(rows[std::min(k + 1, last)] + i);
      const __m512i c = _mm512_loadu_si512(rows[std::min(k + 2, last)] + i);
      const __m512i d = _mm512_loadu_si512(rows[std::min(k + 3, last)] + i);
      const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
      const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
      const __m512i columns[4] = {
          _mm512_unpacklo_epi16(ab_low, cd_low), _mm512_unpackhi_epi16(ab_low, cd_low),
          _mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)};
      const Digits digits = digits_of(taps, k);
      for (int digit = 0; digit < kDigits; ++digit) {
        const __m512i weights = _mm512_set1_epi32(digits.four_taps[digit]);
        for (int q = 0; q < 4; ++q)
          sums[q][digit] = _mm512_dpbusd_epi32(sums[q][digit], columns[q], weights);
      }
    }
    const __m512i low = _mm512_packs_epi32(rounded(sums[0]), rounded(sums[1]));
    const __m512i high = _mm512_packs_epi32(rounded(sums[2]), rounded(sums[3]));
    _mm512_storeu_si512(values + i, _mm512_packus_epi16(low, high));
  }

  int groups_ = 1;
  std::vector<int32_t> weights_;
  std::vector<int> offsets_;
};

}  // namespace

template <class Op>
void resize_strip_vnni(const Op& op, int64_t n, int begin, int end) {
  resize_strip<VnniRows, Op>(op, n, begin, end);
}

template void resize_strip_vnni(const Resize<uint8_t, PillowFixed>& op, int64_t n, int, int);

}  // namespace orbbec
#endif
