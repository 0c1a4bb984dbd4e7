// Columns of two blocks with AVX-512. Included, below the target pragma, by jpeg_avx512.cpp.
#pragma once

#include "columns.h"

namespace orbbec {
namespace {

struct Transpose16 {
  template <class V>
  ORBBEC_HD void operator()(V (&v)[kBlockSide]) const {
    V ones[8], twos[8];
    for (int i = 0; i < 8; i += 2) {
      ones[i] = (V)_mm512_unpacklo_epi32((__m512i)v[i], (__m512i)v[i + 1]);
      ones[i + 1] = (V)_mm512_unpackhi_epi32((__m512i)v[i], (__m512i)v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 2; ++j) {
        const __m512i a = (__m512i)ones[i + j], b = (__m512i)ones[i + 2 + j];
        twos[i + 2 * j] = (V)_mm512_unpacklo_epi64(a, b);
        twos[i + 2 * j + 1] = (V)_mm512_unpackhi_epi64(a, b);
      }
    }
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    for (int i = 0; i < 4; ++i) {
      const __m512i a = (__m512i)twos[i], b = (__m512i)twos[i + 4];
      v[i] = (V)_mm512_permutex2var_epi64(a, low, b);
      v[i + 4] = (V)_mm512_permutex2var_epi64(a, high, b);
    }
  }
};

struct Avx512Columns : ColumnsOf<Vectors16> {
  using Pair = __m512i;
  static constexpr Transpose16 transpose{};

  ORBBEC_HD static Pair pair(const V& a, const V& b) {
    return _mm512_mask_blend_epi16(0xaaaaaaaau, (__m512i)a, _mm512_slli_epi32((__m512i)b, 16));
  }
  template <int kA, int kB>
  ORBBEC_HD static V sum(const Pair& pair) {
    constexpr int kFactors = static_cast<int>((static_cast<uint32_t>(kB) << 16) | (kA & 0xffff));
    return (V)_mm512_madd_epi16(pair, _mm512_set1_epi32(kFactors));
  }
  ORBBEC_HD static V to_byte(const V& value) {
    const __m512i positive = _mm512_max_epi32((__m512i)value, _mm512_setzero_si512());
    return (V)_mm512_min_epi32(positive, _mm512_set1_epi32(255));
  }
  ORBBEC_HD static V load_bytes(const uint8_t* from) {
    return (V)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  ORBBEC_HD static void store_bytes(uint8_t* to, const V& value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8((__m512i)value));
  }
};

}  // namespace
}  // namespace orbbec
