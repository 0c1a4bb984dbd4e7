#include "../executors/simd/halves.h"
#include "../executors/strips_cpu.h"
#include "blends.h"
#include "copy_pixels_cpu.h"

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

// Blocks of half precision, to which each term is rounded.
template <class T>
void blend_halves(const T* base, const T* other, T* to, int64_t count, Weights<float> weights) {
  constexpr int64_t kBlock = 256;
  const Simd level = simd_level();
  T rounded[kBlock];
  float terms[2][kBlock] = {};
  const auto term = [&](const T* from, float weight, float (&values)[kBlock], int64_t part) {
    to_floats(from, values, part, level);
    for (int i = 0; i < kBlock; ++i) values[i] *= weight;
    to_halves(values, rounded, part, level);
    to_floats(rounded, values, part, level);
  };
  for (; count > 0; count -= kBlock, base += kBlock, other += kBlock, to += kBlock) {
    const int64_t part = std::min(count, kBlock);
    term(base, weights.base, terms[0], part);
    term(other, weights.other, terms[1], part);
    for (int i = 0; i < kBlock; ++i) terms[0][i] = terms[1][i] + terms[0][i];
    to_halves(terms[0], to, part, level);
  }
}

template <class T, class F>
ORBBEC_HD void blend_by_vectors(const T* base, const T* other, T* to, int64_t count,
                                Weights<F> weights) {
  if constexpr (kIsHalf<T>) return blend_halves(base, other, to, count, weights);
  int64_t done = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, uint8_t>) done = blend_bytes(base, other, to, count, weights);
#endif
  blend_run(base + done, other + done, to + done, count - done, weights);
}

template <class T>
using BlendRun = void (*)(const T* base, const T* other, T* to, int64_t count,
                          Weights<Compute<T>> weights);

// Rows [top, bottom) by contiguous runs: rows of all channels or of one, all together where they
// follow each other in memory. False where there are none.
template <class Op, class T = typename Op::Value>
bool mixup_rows(const Op& op, BlendRun<T> run, int64_t n, int top, int bottom) {
  const Image<const T> base = op.source[n], other = op.pair_of(n);
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const bool interleaved = base.stride_c == 1 && to.stride_c == 1 && base.stride_x == channels &&
                           to.stride_x == channels && other.stride_x == channels;
  const bool planar = base.stride_x == 1 && to.stride_x == 1 && other.stride_x == 1;
  if (!interleaved && !planar) return false;
  if (bottom > other.height || to.width != other.width) return false;
  const int64_t row = to.width * to.stride_x;
  const bool follow = base.stride_y == row && to.stride_y == row && other.stride_y == row;
  const int rows = follow ? bottom - top : 1;
  const Weights<Compute<T>> weights = op.rule.at(n, 0, 0);
  for (int64_t c = 0; c < (interleaved ? 1 : channels); ++c) {
    for (int y = top; y < bottom; y += rows)
      run(&base.at(y, 0, c), &other.at(y, 0, c), &to.at(y, 0, c), rows * row, weights);
  }
  return true;
}

}  // namespace

void blend_pixels_cpu(const BlendArguments& arguments, const ParallelFor& parallel) {
  dispatch_blends(arguments, [&](const auto& op) {
    using Op = std::decay_t<decltype(op)>;
    using T = typename Op::Value;
    using F = Compute<T>;
    const Simd level = simd_level();
    const auto by_pixel = pixel_row<Op>(level);
    const auto run = compiled_to_avx2<blend_run<T, F>, blend_by_vectors<T, F>>(level);
    const int rows = strip_rows(op.output, sizeof(T));
    for_each_strip_cpu(op.output, rows, parallel, [&](int64_t n, int top) {
      const Image<T> to = op.output[n];
      const int bottom = static_cast<int>(std::min<int64_t>(int64_t{top} + rows, to.height));
      if constexpr (std::is_same_v<typename Op::Rule, MixupRule<F>>) {
        if (mixup_rows(op, run, n, top, bottom)) return;
      }
      for (int y = top; y < bottom; ++y) by_pixel(op, n, y, to.width);
    });
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
