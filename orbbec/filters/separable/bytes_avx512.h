// Vectors of 64 bytes with the members of BytesAvx2. Included under a target with AVX-512 F and BW.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace orbbec {

struct BytesAvx512 {
  static constexpr int kLanes = 32;
  using Vector = __m512i;

  static Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(void* to, Vector v) { _mm512_storeu_si512(to, v); }
  static Vector all_16(int v) { return _mm512_set1_epi16(static_cast<int16_t>(v)); }
  static Vector all_32(int v) { return _mm512_set1_epi32(v); }
  static Vector add_16(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
  static Vector add_32(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector multiply_16(Vector a, Vector b) { return _mm512_mullo_epi16(a, b); }
  static Vector high_products_16(Vector a, Vector b) { return _mm512_mulhi_epu16(a, b); }
  static Vector exclusive_or(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
  static Vector multiply_pairs(Vector a, Vector b) { return _mm512_madd_epi16(a, b); }
  static Vector low_pairs(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
  static Vector high_pairs(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }
  static void store_bytes(uint8_t* to, Vector low, Vector high) {
    const Vector words = _mm512_packus_epi32(_mm512_maskz_srli_epi32(-1, low, 16),
                                             _mm512_maskz_srli_epi32(-1, high, 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi16_epi8(-1, words));
  }
};

}  // namespace orbbec
