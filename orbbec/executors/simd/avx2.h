// Eight lanes: the operations that compiler vectors lack. Included under a target with AVX2 and
// FMA; every such class has the same members.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace orbbec {

struct Avx2 {
  static constexpr int kLanes = 8;
  typedef float Float __attribute__((vector_size(32)));
  typedef int Int __attribute__((vector_size(32)));

  static Int lane_numbers() { return Int{0, 1, 2, 3, 4, 5, 6, 7}; }
  static Float all_lanes(float v) { return _mm256_set1_ps(v); }
  static Float fused_multiply_add(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float floor(Float v) { return _mm256_floor_ps(v); }
  static Int truncate(Float v) { return (Int)_mm256_cvttps_epi32(v); }  // INT_MIN if out of range
  static Int round(Float v) { return (Int)_mm256_cvtps_epi32(v); }      // half to even
  static Float to_float(Int v) { return _mm256_cvtepi32_ps((__m256i)v); }
  static Int shift_right(Int v, Int bits) {
    return (Int)_mm256_srlv_epi32((__m256i)v, (__m256i)bits);
  }
  static Int gather(const void* base, Int bytes) {
    return (Int)_mm256_i32gather_epi32(static_cast<const int*>(base), (__m256i)bytes, 1);
  }
  // The low and the high half of the 8 bytes at each offset. Single loads: on many CPUs they are
  // faster than a gather.
  static void load_8_bytes(const char* base, const int* bytes, Int& low, Int& high) {
    const __m256i a = join(two(base, bytes[0], bytes[1]), two(base, bytes[4], bytes[5]));
    const __m256i b = join(two(base, bytes[2], bytes[3]), two(base, bytes[6], bytes[7]));
    low = (Int)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    high = (Int)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd);
  }
  // The 16 bytes at each of two offsets, `step` apart.
  static Float load_16_bytes(const char* base, const int* bytes, int step = 1) {
    const auto at = [=](int i) { return reinterpret_cast<const __m128i*>(base + bytes[i * step]); };
    return (Float)join(_mm_loadu_si128(at(0)), _mm_loadu_si128(at(1)));
  }
  // The same for kLanes offsets: four bytes of each in each word.
  [[gnu::always_inline]] static void load_16_bytes(const char* base, const int* bytes,
                                                   Int (&words)[4]) {
    __m256 pixels[4], pairs[4];
    for (int i = 0; i < 4; ++i) pixels[i] = (__m256)load_16_bytes(base, bytes + i, 4);
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm256_unpacklo_ps(pixels[i], pixels[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_ps(pixels[i], pixels[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      words[2 * i] = (Int)_mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
      words[2 * i + 1] = (Int)_mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    }
  }
  // The four bytes at each offset.
  static Int load_4_bytes(const char* base, const int* bytes) {
    return (Int)join(four(base, bytes), four(base, bytes + 4));
  }
  // Bytes within each 16, by their numbers.
  static Int shuffle_bytes(Int v, Int order) {
    return (Int)_mm256_shuffle_epi8((__m256i)v, (__m256i)order);
  }
  // Pairs of signed 16-bit numbers: sum + a0 * b0 + a1 * b1.
  static Int add_products(Int sum, Int a, Int b) {
    return sum + (Int)_mm256_madd_epi16((__m256i)a, (__m256i)b);
  }
  static bool all(Int mask) { return _mm256_movemask_ps((__m256)mask) == 0xff; }
  static bool any(Int mask) { return _mm256_movemask_ps((__m256)mask) != 0; }

  static Float load(const float* from) { return _mm256_loadu_ps(from); }
  // A byte for each lane.
  static Int load_bytes(const uint8_t* from) {
    return (Int)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(float* to, Float v) { _mm256_storeu_ps(to, v); }
  // 64 bytes, bypassing the caches.
  static void stream(float* to, Float v) { _mm256_stream_ps(to, v); }
  static void stream_line(char* to, const char* from) {
    auto* target = reinterpret_cast<__m256i*>(to);
    const auto* source = reinterpret_cast<const __m256i*>(from);
    _mm256_stream_si256(target, _mm256_loadu_si256(source));
    _mm256_stream_si256(target + 1, _mm256_loadu_si256(source + 1));
  }
  // Requires F16C, which every CPU with AVX2 has. Rounds half to even.
  __attribute__((target("avx2,fma,f16c"))) static void store_halves(uint16_t* to, Float v) {
    const __m128i halves = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
  }
  // Lanes from 0 to 65535.
  static void store_words(uint16_t* to, Int v) {
    const __m256i low = _mm256_packus_epi32((__m256i)v, (__m256i)v);
    const __m256i joined = _mm256_permute4x64_epi64(low, 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(joined));
  }
  // The low 1, 3 or 4 bytes of each lane, contiguously.
  static void store_bytes_1(uint8_t* to, Int v) {
    const __m256i low = _mm256_shuffle_epi8(
        (__m256i)v,
        lanes16(_mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
    const __m256i joined =
        _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(joined));
  }
  static void store_bytes_3(uint8_t* to, Int v) {
    const __m256i low = _mm256_shuffle_epi8(
        (__m256i)v, lanes16(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)));
    const __m256i joined =
        _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to),
                           _mm256_setr_epi32(-1, -1, -1, -1, -1, -1, 0, 0), joined);
  }
  static void store_bytes_4(uint8_t* to, Int v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
  }

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
  static __m256i join(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  }
  static __m256i lanes16(__m128i order) { return _mm256_broadcastsi128_si256(order); }
};

}  // namespace orbbec
