#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "rows_avx2.h"

namespace orbbec {
namespace {

template <class F, class Op>
class Avx512Rows;

// Linear: four columns at a time.
template <class Op>
class Avx512Rows<FixedLinear, Op> : public Avx2Rows<FixedLinear, Op> {
  using Base = Avx2Rows<FixedLinear, Op>;
  using Base::v, Base::offsets_, Base::weights_;

 public:
  using Base::Base;

  void across(const uint8_t* row, int begin, int end, int16_t* sums) const {
    if (!is_packed(v)) return Base::across(row, begin, end, sums);
    const __m512i pairs = _mm512_broadcast_i64x4(channel_pairs(v.lanes));
    // The low half of each number, without the fourth number of a pixel of three channels.
    const __m512i words = v.lanes == 3 ? every_word(0, 2, 4, 8, 10, 12, 16, 18, 20, 24, 26, 28)
                                       : every_word(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    for (int x = begin; x < end; x += 4) {
      const int* const at = offsets_.data() + x;
      __m512i pixels = _mm512_castsi128_si512(number_at(row + at[0]));
      pixels = _mm512_mask_broadcastq_epi64(pixels, 0x0c, number_at(row + at[1]));
      pixels = _mm512_mask_broadcastq_epi64(pixels, 0x30, number_at(row + at[2]));
      pixels = _mm512_mask_broadcastq_epi64(pixels, 0xc0, number_at(row + at[3]));
      const __m512i weights = _mm512_loadu_si512(weights_.data() + 4 * int64_t{x});
      const __m512i products = _mm512_madd_epi16(_mm512_shuffle_epi8(pixels, pairs), weights);
      const __m512i packed = _mm512_permutexvar_epi16(words, _mm512_srai_epi32(products, 4));
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(sums + static_cast<int64_t>(x - begin) * v.lanes),
          _mm512_castsi512_si256(packed));
    }
  }

 private:
  static __m128i number_at(const uint8_t* bytes) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  }

  // Twelve places, and those of a fourth pixel of four channels.
  template <class... Places>
  static __m512i every_word(Places... places) {
    alignas(64) const int16_t all[32] = {static_cast<int16_t>(places)..., 24, 26, 28, 30};
    return _mm512_load_si512(all);
  }
};

}  // namespace

template <class Op>
void resize_strips_avx512(const Op& op, int64_t begin, int64_t end) {
  resize_strips<Avx512Rows, Op>(op, begin, end);
}

template void resize_strips_avx512(const Resize<uint8_t, FixedLinear>& op, int64_t, int64_t);

}  // namespace orbbec
#endif
