#include "halves.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

#if defined(__x86_64__)
constexpr int kValues = 16;
// Every CPU with AVX2 has F16C.
#define ORBBEC_F16C __attribute__((target("avx2,fma,f16c")))

ORBBEC_F16C inline __m128i load_8(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

ORBBEC_F16C inline __m256 widened(const Half* from) { return _mm256_cvtph_ps(load_8(from)); }
ORBBEC_F16C inline __m256 widened(const BFloat16* from) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_8(from)), 16));
}

// NaN keeps only its sign.
ORBBEC_F16C inline __m256i narrowed(__m256 low, __m256 high, Half) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m256i sign = _mm256_set1_epi16(-0x8000), nan = _mm256_set1_epi16(0x7e00);
  const __m256i infinity = _mm256_set1_epi16(0x7c00);
  const __m256i halves =
      _mm256_set_m128i(_mm256_cvtps_ph(high, kNearest), _mm256_cvtps_ph(low, kNearest));
  const __m256i is_nan = _mm256_cmpgt_epi16(_mm256_andnot_si256(sign, halves), infinity);
  const __m256i only_sign = _mm256_or_si256(_mm256_and_si256(halves, sign), nan);
  return _mm256_blendv_epi8(halves, only_sign, is_nan);
}

// The rounded upper halves of words; NaN becomes quiet.
ORBBEC_F16C inline __m256i upper_halves(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(is_nan)), 16);
}
ORBBEC_F16C inline __m256i narrowed(__m256 low, __m256 high, BFloat16) {
  const __m256i packed = _mm256_packus_epi32(upper_halves(low), upper_halves(high));
  return _mm256_permute4x64_epi64(packed, 0xd8);
}

// As many values as fill whole vectors; returns their number.
template <class T>
ORBBEC_F16C int64_t convert_vectors(const T* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kValues <= count; i += kValues) {
    _mm256_storeu_ps(to + i, widened(from + i));
    _mm256_storeu_ps(to + i + kValues / 2, widened(from + i + kValues / 2));
  }
  return i;
}

template <class T>
ORBBEC_F16C int64_t convert_vectors(const float* from, T* to, int64_t count) {
  int64_t i = 0;
  for (; i + kValues <= count; i += kValues) {
    const __m256i halves =
        narrowed(_mm256_loadu_ps(from + i), _mm256_loadu_ps(from + i + kValues / 2), T{});
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
  }
  return i;
}
#endif

template <class From, class To>
void convert(const From* from, To* to, int64_t count, Simd level) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (level != Simd::kScalar) i = convert_vectors(from, to, count);
#endif
  for (; i < count; ++i) to[i] = store<To>(load(from[i]));
}

}  // namespace

template <class T>
void to_floats(const T* from, float* to, int64_t count, Simd level) {
  convert(from, to, count, level);
}
template <class T>
void to_halves(const float* from, T* to, int64_t count, Simd level) {
  convert(from, to, count, level);
}

template void to_floats(const Half* from, float* to, int64_t count, Simd level);
template void to_floats(const BFloat16* from, float* to, int64_t count, Simd level);
template void to_halves(const float* from, Half* to, int64_t count, Simd level);
template void to_halves(const float* from, BFloat16* to, int64_t count, Simd level);

}  // namespace orbbec
