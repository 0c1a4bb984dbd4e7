// Sixteen lanes; the members of Avx2. Included under a target with AVX-512 F and BW.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace orbbec {

struct Avx512 {
  static constexpr int kLanes = 16;
  typedef float Float __attribute__((vector_size(64)));
  typedef int Int __attribute__((vector_size(64)));

  static Int lane_numbers() { return Int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
  static Float all_lanes(float v) { return _mm512_set1_ps(v); }
  static Float fused_multiply_add(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float floor(Float v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static Int truncate(Float v) { return (Int)_mm512_cvttps_epi32(v); }
  static Int round(Float v) { return (Int)_mm512_cvtps_epi32(v); }
  static Float to_float(Int v) { return _mm512_cvtepi32_ps((__m512i)v); }
  static Int shift_right(Int v, Int bits) {
    return (Int)_mm512_srlv_epi32((__m512i)v, (__m512i)bits);
  }
  static Int gather(const void* base, Int bytes) {
    return (Int)_mm512_i32gather_epi32((__m512i)bytes, base, 1);
  }
  static void load_8_bytes(const char* base, const int* bytes, Int& low, Int& high) {
    const __m512i a = join(two(base, bytes[0], bytes[1]), two(base, bytes[4], bytes[5]),
                           two(base, bytes[8], bytes[9]), two(base, bytes[12], bytes[13]));
    const __m512i b = join(two(base, bytes[2], bytes[3]), two(base, bytes[6], bytes[7]),
                           two(base, bytes[10], bytes[11]), two(base, bytes[14], bytes[15]));
    low = (Int)_mm512_shuffle_ps((__m512)a, (__m512)b, 0x88);
    high = (Int)_mm512_shuffle_ps((__m512)a, (__m512)b, 0xdd);
  }
  static Float load_16_bytes(const char* base, const int* bytes, int step = 1) {
    const auto at = [=](int i) { return reinterpret_cast<const __m128i*>(base + bytes[i * step]); };
    return (Float)join(_mm_loadu_si128(at(0)), _mm_loadu_si128(at(1)), _mm_loadu_si128(at(2)),
                       _mm_loadu_si128(at(3)));
  }
  [[gnu::always_inline]] static void load_16_bytes(const char* base, const int* bytes,
                                                   Int (&words)[4]) {
    __m512 pixels[4], pairs[4];
    for (int i = 0; i < 4; ++i) pixels[i] = (__m512)load_16_bytes(base, bytes + i, 4);
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm512_unpacklo_ps(pixels[i], pixels[i + 1]);
      pairs[i + 1] = _mm512_unpackhi_ps(pixels[i], pixels[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      words[2 * i] = (Int)_mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
      words[2 * i + 1] = (Int)_mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    }
  }
  static Int load_4_bytes(const char* base, const int* bytes) {
    return (Int)join(four(base, bytes), four(base, bytes + 4), four(base, bytes + 8),
                     four(base, bytes + 12));
  }
  static Int shuffle_bytes(Int v, Int order) {
    return (Int)_mm512_shuffle_epi8((__m512i)v, (__m512i)order);
  }
  static Int add_products(Int sum, Int a, Int b) {
    return sum + (Int)_mm512_madd_epi16((__m512i)a, (__m512i)b);
  }
  static bool all(Int mask) {
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) == 0xffff;
  }
  static bool any(Int mask) { return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0; }

  static Float load(const float* from) { return _mm512_loadu_ps(from); }
  static Int load_bytes(const uint8_t* from) {
    return (Int)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(float* to, Float v) { _mm512_storeu_ps(to, v); }
  static void stream(float* to, Float v) { _mm512_stream_ps(to, v); }
  static void stream_line(char* to, const char* from) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
  static void store_halves(uint16_t* to, Float v) {
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(to),
        _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_words(uint16_t* to, Int v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)v));
  }
  static void store_bytes_1(uint8_t* to, Int v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8((__m512i)v));
  }
  static void store_bytes_3(uint8_t* to, Int v) {
    const __m128i order = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m512i low = _mm512_shuffle_epi8((__m512i)v, _mm512_broadcast_i32x4(order));
    const __m512i words = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    _mm512_mask_storeu_epi32(to, 0x0fff, _mm512_permutexvar_epi32(words, low));
  }
  static void store_bytes_4(uint8_t* to, Int v) { _mm512_storeu_si512(to, (__m512i)v); }

 private:
  static __m128i two(const char* base, int first, int second) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base + first));
    int64_t high;
    memcpy(&high, base + second, sizeof(high));
    return _mm_insert_epi64(low, high, 1);
  }
  static __m128i four(const char* base, const int* bytes) {
    int numbers[4];
    for (int i = 0; i < 4; ++i) memcpy(&numbers[i], base + bytes[i], sizeof(int));
    return _mm_setr_epi32(numbers[0], numbers[1], numbers[2], numbers[3]);
  }
  static __m512i join(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
};

}  // namespace orbbec
