#include "../executors/strips_cpu.h"
#include "blends.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {
namespace {

// Contiguous values with the same weights.
template <class T, class F>
ORBBEC_HD void blend_run(const T* base, const T* other, T* to, int64_t count, Weights<F> weights) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = weighted_sum<T>(base[i], weights.base, other[i], weights.other);
  }
}
#if defined(__x86_64__)
// Eight bytes of each image, as integers; what int cannot hold is INT_MIN, like round_to_int.
ORBBEC_AVX2 inline __m256i mixed_bytes(const uint8_t* base, const uint8_t* other,
                                       __m256 base_weight, __m256 other_weight) {
  const __m128i a = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base));
  const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(other));
  const __m256 of_other = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(b)), other_weight);
  return _mm256_cvtps_epi32(
      _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(a)), base_weight, of_other));
}

// As many of `count` bytes as fill whole vectors; returns their number.
ORBBEC_AVX2 int64_t blend_bytes(const uint8_t* base, const uint8_t* other, uint8_t* to,
                                int64_t count, Weights<float> weights) {
  const __m256 a = _mm256_set1_ps(weights.base), b = _mm256_set1_ps(weights.other);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i quarters[4];
    for (int q = 0; q < 4; ++q) {
      quarters[q] = mixed_bytes(base + i + 8 * q, other + i + 8 * q, a, b);
    }
    const __m256i low = _mm256_packs_epi32(quarters[0], quarters[1]);
    const __m256i high = _mm256_packs_epi32(quarters[2], quarters[3]);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), bytes);
  }
  return i;
}
#endif

template <class T, class F>
ORBBEC_HD void blend_by_vectors(const T* base, const T* other, T* to, int64_t count,
                                Weights<F> weights) {
  int64_t done = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, uint8_t>) done = blend_bytes(base, other, to, count, weights);
#endif
  blend_run(base + done, other + done, to + done, count - done, weights);
}

// The length of a contiguous run of a row in all three images, and the number of such runs per row:
// its channels, or one.
template <class Op>
bool mixup_row(const Op& op, int64_t n, int y) {
  using T = typename Op::Value;
  using F = Compute<T>;
  const Image<const T> base = op.source[n], other = op.pair_of(n);
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const bool interleaved = base.stride_c == 1 && to.stride_c == 1 && base.stride_x == channels &&
                           to.stride_x == channels && other.stride_x == channels;
  const bool planar = base.stride_x == 1 && to.stride_x == 1 && other.stride_x == 1;
  if (!interleaved && !planar) return false;
  if (y >= other.height || to.width != other.width) return false;
  const auto run = compiled_to_avx2<blend_run<T, F>, blend_by_vectors<T, F>>(simd_level());
  const Weights<F> weights = op.rule.at(n, y, 0);
  for (int64_t c = 0; c < (interleaved ? 1 : channels); ++c) {
    run(&base.at(y, 0, c), &other.at(y, 0, c), &to.at(y, 0, c),
        to.width * (interleaved ? channels : 1), weights);
  }
  return true;
}

template <class Op>
void blend_row(const Op& op, PixelRow<Op> by_pixel, int64_t n, int y) {
  using F = Compute<typename Op::Value>;
  if constexpr (std::is_same_v<typename Op::Rule, MixupRule<F>>) {
    if (mixup_row(op, n, y)) return;
  }
  by_pixel(op, n, y, op.output[n].width);
}

}  // namespace

void blend_pixels_cpu(const BlendArguments& arguments, const ParallelFor& parallel) {
  dispatch_blends(arguments, [&](const auto& op) {
    const auto by_pixel = pixel_row<std::decay_t<decltype(op)>>(simd_level());
    for_each_strip_cpu(op.output, 1, parallel,
                       [&](int64_t n, int y) { blend_row(op, by_pixel, n, y); });
    return 0;
  });
}

void add_to_pairs_cpu(const SumArguments& arguments, const ParallelFor& parallel) {
  dispatch_sum(arguments, [&](const auto& op) {
    for_each_pixel_cpu(op, op.output, parallel);
    return 0;
  });
}

}  // namespace orbbec
