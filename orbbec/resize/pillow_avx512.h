// What pillow_strips.h takes of AVX-512: sixteen rows. Included under a target of AVX-512 F, BW and
// VNNI.
#pragma once

#include <immintrin.h>

#include "../core/simd_avx512.h"

namespace orbbec {
namespace {

struct PillowAvx512 {
  static constexpr int kLanes = Avx512::kLanes;
  using Int = Avx512::Int;

  static Int all(int value) { return (Int)_mm512_set1_epi32(value); }
  static Int load(const int32_t* from) { return (Int)_mm512_loadu_si512(from); }
  // To each sum the two products of 16-bit numbers.
  static Int add_products(Int sum, Int pairs, Int weights) {
    return (Int)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)pairs, (__m512i)weights);
  }
  static Int rounded(Int low, Int high) {
    const __m512i sum = _mm512_add_epi32((__m512i)low, _mm512_slli_epi32((__m512i)high, 12));
    return (Int)_mm512_srai_epi32(sum, 22);
  }

  // 16 bytes of each of four rows.
  static Int load_quarters(const uint8_t* bytes, int64_t stride) {
    __m512i v = _mm512_castsi128_si512(load_16(bytes));
    v = _mm512_inserti32x4(v, load_16(bytes + stride), 1);
    v = _mm512_inserti32x4(v, load_16(bytes + 2 * stride), 2);
    return (Int)_mm512_inserti32x4(v, load_16(bytes + 3 * stride), 3);
  }
  // A quarter every `stride` numbers.
  static void store_quarters(int32_t* to, int64_t stride, Int v) {
    // Not by the intrinsic, of which the compiler makes a shuffle and a store.
    store_16(to, (__m128i)__builtin_shufflevector(v, v, 0, 1, 2, 3));
    store_16(to + stride, (__m128i)__builtin_shufflevector(v, v, 4, 5, 6, 7));
    store_16(to + 2 * stride, (__m128i)__builtin_shufflevector(v, v, 8, 9, 10, 11));
    store_16(to + 3 * stride, (__m128i)__builtin_shufflevector(v, v, 12, 13, 14, 15));
  }

  static Int shuffle(Int v, __m128i order) {
    return (Int)_mm512_shuffle_epi8((__m512i)v, _mm512_broadcast_i32x4(order));
  }
  // Of the four words of each quarter and the four vectors.
  static void transpose(Int (&v)[4]) {
    const __m512i low01 = _mm512_unpacklo_epi32((__m512i)v[0], (__m512i)v[1]);
    const __m512i high01 = _mm512_unpackhi_epi32((__m512i)v[0], (__m512i)v[1]);
    const __m512i low23 = _mm512_unpacklo_epi32((__m512i)v[2], (__m512i)v[3]);
    const __m512i high23 = _mm512_unpackhi_epi32((__m512i)v[2], (__m512i)v[3]);
    v[0] = (Int)_mm512_unpacklo_epi64(low01, low23);
    v[1] = (Int)_mm512_unpackhi_epi64(low01, low23);
    v[2] = (Int)_mm512_unpacklo_epi64(high01, high23);
    v[3] = (Int)_mm512_unpackhi_epi64(high01, high23);
  }
  // Of each quarter of each of the vectors, a word.
  static Int to_bytes(const Int (&v)[4]) {
    return (Int)_mm512_packus_epi16(_mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]),
                                    _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]));
  }
  // In the order from before to_bytes.
  static void store_bytes(uint8_t* to, Int bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, (__m512i)bytes));
  }

 private:
  static __m128i load_16(const uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  }
  static void store_16(int32_t* to, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
  }
};

}  // namespace
}  // namespace orbbec
