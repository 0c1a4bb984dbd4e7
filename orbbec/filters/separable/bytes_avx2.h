// 16-bit vectors of 32 bytes for gaussian_blur of bytes. Included under a target with AVX2; the
// members are the same for every target.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace orbbec {

struct BytesAvx2 {
  static constexpr int kLanes = 16;  // 16-bit numbers per vector
  using Vector = __m256i;

  static Vector load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store(void* to, Vector v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
  static Vector all_16(int v) { return _mm256_set1_epi16(static_cast<int16_t>(v)); }
  static Vector all_32(int v) { return _mm256_set1_epi32(v); }
  static Vector add_16(Vector a, Vector b) { return _mm256_add_epi16(a, b); }
  static Vector add_32(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector multiply_16(Vector a, Vector b) { return _mm256_mullo_epi16(a, b); }
  // The high halves of unsigned 32-bit products.
  static Vector high_products_16(Vector a, Vector b) { return _mm256_mulhi_epu16(a, b); }
  static Vector exclusive_or(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  // Pairs of signed 16-bit numbers: a0 * b0 + a1 * b1.
  static Vector multiply_pairs(Vector a, Vector b) { return _mm256_madd_epi16(a, b); }
  static Vector low_pairs(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  static Vector high_pairs(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
  // Packs the high halves of 32-bit numbers to bytes, undoing low_pairs and high_pairs.
  static void store_bytes(uint8_t* to, Vector low, Vector high) {
    const Vector words =
        _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
    const Vector bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
  }
};

}  // namespace orbbec
