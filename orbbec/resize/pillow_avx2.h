// AVX2 operations of pillow_strips.h, on eight rows. Included under a target with AVX2.
#pragma once

#include <immintrin.h>

#include "../executors/simd/avx2.h"

namespace orbbec {
namespace {

struct PillowAvx2 {
  static constexpr int kLanes = Avx2::kLanes;
  using Int = Avx2::Int;

  static Int all(int value) { return (Int)_mm256_set1_epi32(value); }
  static Int load(const int32_t* from) {
    return (Int)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  // Adds the two products of 16-bit numbers to each sum.
  static Int add_products(Int sum, Int pairs, Int weights) {
    return (Int)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)pairs, (__m256i)weights));
  }
  static Int rounded(Int low, Int high) {
    const __m256i sum = _mm256_add_epi32((__m256i)low, _mm256_slli_epi32((__m256i)high, 12));
    return (Int)_mm256_srai_epi32(sum, 22);
  }

  // 16 bytes of each of two rows.
  static Int load_halves(const uint8_t* bytes, int64_t stride) {
    return (Int)_mm256_inserti128_si256(_mm256_castsi128_si256(load_16(bytes)),
                                        load_16(bytes + stride), 1);
  }
  // A half every `stride` numbers.
  static void store_halves(int32_t* to, int64_t stride, Int v) {
    store_16(to, _mm256_castsi256_si128((__m256i)v));
    store_16(to + stride, _mm256_extracti128_si256((__m256i)v, 1));
  }

  static Int shuffle(Int v, __m128i order) {
    return (Int)_mm256_shuffle_epi8((__m256i)v, _mm256_broadcastsi128_si256(order));
  }
  // Transposes the four words of each half of four vectors.
  static void transpose(Int (&v)[4]) {
    const __m256i low01 = _mm256_unpacklo_epi32((__m256i)v[0], (__m256i)v[1]);
    const __m256i high01 = _mm256_unpackhi_epi32((__m256i)v[0], (__m256i)v[1]);
    const __m256i low23 = _mm256_unpacklo_epi32((__m256i)v[2], (__m256i)v[3]);
    const __m256i high23 = _mm256_unpackhi_epi32((__m256i)v[2], (__m256i)v[3]);
    v[0] = (Int)_mm256_unpacklo_epi64(low01, low23);
    v[1] = (Int)_mm256_unpackhi_epi64(low01, low23);
    v[2] = (Int)_mm256_unpacklo_epi64(high01, high23);
    v[3] = (Int)_mm256_unpackhi_epi64(high01, high23);
  }
  // One word from each half of each vector.
  static Int to_bytes(const Int (&v)[4]) {
    return (Int)_mm256_packus_epi16(_mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]),
                                    _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]));
  }
  // Interleaves values of two rows, in the order that to_bytes undoes.
  static void pair(const uint8_t* even, const uint8_t* odd, Int (&pairs)[4]) {
    const __m256i zero = _mm256_setzero_si256(), a = load_32(even), b = load_32(odd);
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    pairs[0] = (Int)_mm256_unpacklo_epi8(low, zero);
    pairs[1] = (Int)_mm256_unpackhi_epi8(low, zero);
    pairs[2] = (Int)_mm256_unpacklo_epi8(high, zero);
    pairs[3] = (Int)_mm256_unpackhi_epi8(high, zero);
  }
  static void store(uint8_t* to, Int bytes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)bytes);
  }
  // Undoes the order of to_bytes.
  static void store_in_order(uint8_t* to, Int bytes) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_permutevar8x32_epi32((__m256i)bytes, order));
  }

 private:
  static __m128i load_16(const uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  }
  static __m256i load_32(const uint8_t* bytes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  }
  static void store_16(int32_t* to, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
  }
};

}  // namespace
}  // namespace orbbec
