#include "halves.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

template <class From, class To>
ORBBEC_HD void convert(const From* from, To* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = store<To>(load(from[i]));
}

#if defined(__x86_64__)
constexpr int kLanes = 8;
// Every CPU with AVX2 has F16C.
#define ORBBEC_F16C __attribute__((target("avx2,fma,f16c")))

// As many values as fill whole vectors; returns their number.
ORBBEC_F16C int64_t widen_vectors(const Half* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

// NaN keeps only its sign.
ORBBEC_F16C int64_t narrow_vectors(const float* from, Half* to, int64_t count) {
  const __m256 sign = _mm256_set1_ps(-0.0f), nan = _mm256_set1_ps(float_of(0x7fc00000));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256 values = _mm256_loadu_ps(from + i);
    const __m256 signed_nan = _mm256_or_ps(_mm256_and_ps(values, sign), nan);
    const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
    const __m128i halves = _mm256_cvtps_ph(_mm256_blendv_ps(values, signed_nan, is_nan),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  return i;
}
#endif

}  // namespace

void to_floats(const Half* from, float* to, int64_t count, Simd level) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (level != Simd::kScalar) i = widen_vectors(from, to, count);
#endif
  convert(from + i, to + i, count - i);
}

void to_floats(const BFloat16* from, float* to, int64_t count, Simd level) {
  compiled_to_avx2<convert<BFloat16, float>>(level)(from, to, count);
}

void to_halves(const float* from, Half* to, int64_t count, Simd level) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (level != Simd::kScalar) i = narrow_vectors(from, to, count);
#endif
  convert(from + i, to + i, count - i);
}

void to_halves(const float* from, BFloat16* to, int64_t count, Simd level) {
  compiled_to_avx2<convert<float, BFloat16>>(level)(from, to, count);
}

}  // namespace orbbec
