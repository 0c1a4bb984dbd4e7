// Normal numbers of neighbors in a row, in loops that the compiler vectorizes. Included by
// noise_cpu.cpp, philox_cpu.cpp and erase_cpu.cpp.
#pragma once

#include <algorithm>

#include "../core/noise.h"
#include "executor_cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

constexpr int kNormalPairs = 32, kNormals = 2 * kNormalPairs;  // that are drawn together

#if defined(__x86_64__)
#define ORBBEC_AVX512DQ \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,prefer-vector-width=512")))
#else
#define ORBBEC_AVX512DQ
#endif

// Neighbors in a row of the rows of all channels, starting at pixel 4 * group.
struct NormalRun {
  int64_t n, row, groups, group;
  int length;  // at most kNormals
};

inline void roots_scalar(float* values) {
  for (int i = 0; i < kNormalPairs; ++i) values[i] = sqrtf(values[i]);
}
#if defined(__x86_64__)
// By hand: the compiler does not vectorize what may set errno.
ORBBEC_AVX2 inline void roots_avx2(float* values) {
  for (int i = 0; i < kNormalPairs; i += 8)
    _mm256_storeu_ps(values + i, _mm256_sqrt_ps(_mm256_loadu_ps(values + i)));
}
#else
inline void roots_avx2(float* values) { roots_scalar(values); }
#endif

// The normals of words[0, 2], of words[1, 3] and so on.
template <void (*kRoots)(float*)>
ORBBEC_HD void normals_of_run(const NoiseKey& noise, const NormalRun& run, float* normals) {
  uint32_t first[kNormalPairs] = {}, second[kNormalPairs] = {};
  for (int i = 0; i < run.length; i += 4) {
    const PhiloxBlock block = noise_block(noise, run.n, run.row, run.groups, run.group + i / 4);
    for (int k = 0; k < 2; ++k) {
      first[i / 2 + k] = block.words[2 * k];
      second[i / 2 + k] = block.words[2 * k + 1];
    }
  }
  float radius[kNormalPairs], cosine[kNormalPairs], sine[kNormalPairs];
  for (int i = 0; i < kNormalPairs; ++i) radius[i] = squared_radius_of(first[i]);
  kRoots(radius);
  for (int i = 0; i < kNormalPairs; ++i) cosine_sine_of(second[i], cosine[i], sine[i]);
  for (int i = 0; i < kNormalPairs; ++i) {
    normals[2 * i] = radius[i] * cosine[i];
    normals[2 * i + 1] = radius[i] * sine[i];
  }
}

// put(x, normal) for columns [first, last) of a row of `width` pixels.
template <class Put>
void for_each_normal_cpu(const NoiseKey& noise, int64_t n, int64_t row, int width, int first,
                         int last, const Put& put) {
  const auto draw =
      compiled_to_avx2<normals_of_run<roots_scalar>, normals_of_run<roots_avx2>>(simd_level());
  float normals[kNormals];
  for (int64_t begin = first / 4 * 4; begin < last; begin += kNormals) {
    const int length = static_cast<int>(std::min<int64_t>(last - begin, kNormals));
    draw(noise,
         {.n = n,
          .row = row,
          .groups = (int64_t{width} + 3) / 4,
          .group = begin / 4,
          .length = length},
         normals);
    for (int i = begin < first ? static_cast<int>(first - begin) : 0; i < length; ++i)
      put(static_cast<int>(begin) + i, normals[i]);
  }
}

}  // namespace orbbec
