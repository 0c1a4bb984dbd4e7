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

// Words 0 and 2 of the blocks of a run, and words 1 and 3: a normal is made of a pair.
struct NormalWords {
  uint32_t first[kNormalPairs] = {}, second[kNormalPairs] = {};
};

struct ScalarNormals {
  static NormalWords draw(const NoiseKey& noise, const NormalRun& run) {
    NormalWords words;
    for (int i = 0; i < run.length; i += 4) {
      const PhiloxBlock block = noise_block(noise, run.n, run.row, run.groups, run.group + i / 4);
      for (int k = 0; k < 2; ++k) {
        words.first[i / 2 + k] = block.words[2 * k];
        words.second[i / 2 + k] = block.words[2 * k + 1];
      }
    }
    return words;
  }
  static void root(float (&values)[kNormalPairs]) {
    for (float& value : values) value = sqrtf(value);
  }
};

#if defined(__x86_64__)
// By hand what the compiler does not vectorize: 64-bit products, and roots, which may set errno.
struct Avx2Normals {
  // Eight blocks at a time.
  ORBBEC_AVX2 static NormalWords draw(const NoiseKey& noise, const NormalRun& run) {
    NormalWords words;
    for (int i = 0; i < run.length; i += 32) {
      uint32_t counters[4][8];
      for (int lane = 0; lane < 8; ++lane) {
        const int64_t draw = run.row * run.groups + run.group + i / 4 + lane;
        const PhiloxBlock counter =
            philox_counter(noise_sample(noise, run.n), noise.position, static_cast<uint64_t>(draw));
        for (int k = 0; k < 4; ++k) counters[k][lane] = counter.words[k];
      }
      __m256i w[4];
      for (int k = 0; k < 4; ++k)
        w[k] = _mm256_loadu_si256(reinterpret_cast<__m256i*>(counters[k]));
      for (int round = 0; round < kPhiloxRounds; ++round) mix(w, noise.key, round);
      interleave(w[0], w[2], words.first + i / 2);
      interleave(w[1], w[3], words.second + i / 2);
    }
    return words;
  }
  ORBBEC_AVX2 static void root(float (&values)[kNormalPairs]) {
    for (int i = 0; i < kNormalPairs; i += 8)
      _mm256_storeu_ps(values + i, _mm256_sqrt_ps(_mm256_loadu_ps(values + i)));
  }

 private:
  // A round of `philox`.
  ORBBEC_AVX2 static void mix(__m256i (&w)[4], const PhiloxKey& key, int round) {
    __m256i a_high, a_low, b_high, b_low;
    multiply(w[0], kPhiloxFactors[0], a_high, a_low);
    multiply(w[2], kPhiloxFactors[1], b_high, b_low);
    const auto low = _mm256_set1_epi32(static_cast<int>(key.low_of(round))),
               high = _mm256_set1_epi32(static_cast<int>(key.high_of(round)));
    w[0] = _mm256_xor_si256(_mm256_xor_si256(b_high, w[1]), low);
    w[1] = b_low;
    w[2] = _mm256_xor_si256(_mm256_xor_si256(a_high, w[3]), high);
    w[3] = a_low;
  }
  ORBBEC_AVX2 static void multiply(__m256i a, uint32_t factor, __m256i& high, __m256i& low) {
    const __m256i b = _mm256_set1_epi32(static_cast<int>(factor));
    const __m256i even = _mm256_mul_epu32(a, b),
                  odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  }
  // a[0], b[0], a[1], b[1] and so on.
  ORBBEC_AVX2 static void interleave(__m256i a, __m256i b, uint32_t* to) {
    const __m256i low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
    auto* const target = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(target, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(target + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
};
#else
using Avx2Normals = ScalarNormals;
#endif

template <class Level>
ORBBEC_HD void normals_of_run(const NoiseKey& noise, const NormalRun& run, float* normals) {
  const NormalWords words = Level::draw(noise, run);
  float radius[kNormalPairs], cosine[kNormalPairs], sine[kNormalPairs];
  for (int i = 0; i < kNormalPairs; ++i) radius[i] = squared_radius_of(words.first[i]);
  Level::root(radius);
  for (int i = 0; i < kNormalPairs; ++i) cosine_sine_of(words.second[i], cosine[i], sine[i]);
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
      compiled_to_avx2<normals_of_run<ScalarNormals>, normals_of_run<Avx2Normals>>(simd_level());
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
