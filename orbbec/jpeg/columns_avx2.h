// Columns with AVX2: a lane holds a pair of 16-bit numbers. Included, below the target pragma, by
// jpeg_avx2.cpp.
#pragma once

#include "../executors/simd/avx2.h"
#include "columns.h"

namespace orbbec {
namespace {

struct Avx2Columns : ColumnsOf<Vectors8> {
  using Pair = __m256i;
  static constexpr Transpose8 transpose{};

  ORBBEC_HD static Pair pair(const V& a, const V& b) {
    return _mm256_blend_epi16((__m256i)a, _mm256_slli_epi32((__m256i)b, 16), 0xaa);
  }
  template <int kA, int kB>
  ORBBEC_HD static V sum(const Pair& pair) {
    constexpr int kFactors = static_cast<int>((static_cast<uint32_t>(kB) << 16) | (kA & 0xffff));
    return (V)_mm256_madd_epi16(pair, _mm256_set1_epi32(kFactors));
  }
  ORBBEC_HD static V to_byte(const V& value) {
    const __m256i positive = _mm256_max_epi32((__m256i)value, _mm256_setzero_si256());
    return (V)_mm256_min_epi32(positive, _mm256_set1_epi32(255));
  }
  ORBBEC_HD static V load_bytes(const uint8_t* from) {
    return (V)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }
  ORBBEC_HD static void store_bytes(uint8_t* to, const V& value) { Avx2::store_bytes_1(to, value); }
};

}  // namespace
}  // namespace orbbec
