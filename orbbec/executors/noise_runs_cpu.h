// Random numbers of neighbors in a row, in loops that the compiler vectorizes. Included by
// *_cpu.cpp of noise/, mix/erase/ and warpaffine/elastic/.
#pragma once

#include "../core/noise.h"
#include "executor_cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

// Numbers that are drawn together, and of a run: the words of eight Philox blocks, which make
// pairs.
constexpr int kDrawn = 32, kRunLength = 8 * kDrawn;

// Neighbors in a row of the rows of all channels, starting at pixel 4 * group.
struct NoiseRun {
  int64_t n, row, groups, group;
  int length;  // at most kRunLength
};

// Words 0 and 2 of each block, and words 1 and 3.
struct NoiseWords {
  uint32_t first[kRunLength / 2], second[kRunLength / 2];
};

// Each level draws the first `pairs` words of a run, a multiple of kDrawn / 2, from draw `draw` on.
struct ScalarNoise {
  static void draw(const NoiseKey& noise, int64_t n, int64_t draw, int pairs, NoiseWords& words) {
    for (int i = 0; i < pairs; i += 2) {
      const PhiloxBlock block = noise_block(noise, n, draw + i / 2);
      for (int k = 0; k < 2; ++k) {
        words.first[i + k] = block.words[2 * k];
        words.second[i + k] = block.words[2 * k + 1];
      }
    }
  }
  static void root(float* values, int count) {
    for (int i = 0; i < count; ++i) values[i] = sqrtf(values[i]);
  }
};

#if defined(__x86_64__)
// By hand what the compiler does not vectorize: 64-bit products, and roots, which may set errno. A
// word is the lower half of a lane of 64 bits; what is in the upper half does not count.
struct Avx2Noise {
  ORBBEC_AVX2 static void draw(const NoiseKey& noise, int64_t n, int64_t draw, int pairs,
                               NoiseWords& words) {
    const auto sample = static_cast<int64_t>(noise_sample(noise, n));
    const __m256i factors[] = {all_lanes(kPhiloxFactors[0]), all_lanes(kPhiloxFactors[1])};
    for (int i = 0; i < pairs; i += 8) {  // four blocks
      const __m256i draws =
          _mm256_add_epi64(_mm256_set1_epi64x(draw + i / 2), _mm256_setr_epi64x(0, 1, 2, 3));
      __m256i w[] = {draws, _mm256_srli_epi64(draws, 32), _mm256_set1_epi64x(sample),
                     _mm256_set1_epi64x(sample >> 32)};
      w[1] = _mm256_or_si256(_mm256_and_si256(w[1], all_lanes(0xffff)),
                             all_lanes(noise.position << 16));
      for (int round = 0; round < kPhiloxRounds; ++round) {
        const __m256i a = _mm256_mul_epu32(w[0], factors[0]),
                      b = _mm256_mul_epu32(w[2], factors[1]);
        w[0] = _mm256_xor_si256(_mm256_srli_epi64(b, 32),
                                _mm256_xor_si256(w[1], all_lanes(noise.key.low_of(round))));
        w[1] = b;
        w[2] = _mm256_xor_si256(_mm256_srli_epi64(a, 32),
                                _mm256_xor_si256(w[3], all_lanes(noise.key.high_of(round))));
        w[3] = a;
      }
      store_pairs(w[0], w[2], words.first + i);
      store_pairs(w[1], w[3], words.second + i);
    }
  }
  ORBBEC_AVX2 static void root(float* values, int count) {
    for (int i = 0; i < count; i += 8)
      _mm256_storeu_ps(values + i, _mm256_sqrt_ps(_mm256_loadu_ps(values + i)));
  }

 private:
  ORBBEC_AVX2 static __m256i all_lanes(uint32_t v) {
    return _mm256_set1_epi32(static_cast<int>(v));
  }
  // a[0], b[0], a[1], b[1] and so on.
  ORBBEC_AVX2 static void store_pairs(__m256i a, __m256i b, uint32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa));
  }
};

struct Avx512Noise {
  ORBBEC_AVX512 static void draw(const NoiseKey& noise, int64_t n, int64_t draw, int pairs,
                                 NoiseWords& words) {
    int i = 0;
    for (; i + kVectors * kStep <= pairs; i += kVectors * kStep)
      draw_at<kVectors>(noise, n, draw, i, words);
    for (; i < pairs; i += kStep) draw_at<1>(noise, n, draw, i, words);
  }
  ORBBEC_AVX512 static void root(float* values, int count) {
    for (int i = 0; i < count; i += 16)
      _mm512_storeu_ps(values + i, _mm512_maskz_sqrt_ps(-1, _mm512_loadu_ps(values + i)));
  }

 private:
  static constexpr int kStep = kDrawn / 2;  // words of a vector of blocks
  static constexpr int kVectors = 4;        // such vectors, to hide the latency of the rounds

  template <int kCount>
  ORBBEC_AVX512 static void draw_at(const NoiseKey& noise, int64_t n, int64_t draw, int i,
                                    NoiseWords& words) {
    const auto sample = static_cast<int64_t>(noise_sample(noise, n));
    const __m512i factors[] = {all_lanes(kPhiloxFactors[0]), all_lanes(kPhiloxFactors[1])};
    const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i w[kCount][4];
#pragma GCC unroll 4
    for (int k = 0; k < kCount; ++k) {
      const __m512i draws = _mm512_add_epi64(_mm512_set1_epi64(draw + i / 2 + 8 * k), lanes);
      w[k][0] = draws;
      w[k][1] = _mm512_or_si512(_mm512_and_si512(upper(draws), all_lanes(0xffff)),
                                all_lanes(noise.position << 16));
      w[k][2] = _mm512_set1_epi64(sample);
      w[k][3] = _mm512_set1_epi64(sample >> 32);
    }
#pragma GCC unroll 10
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const __m512i low = all_lanes(noise.key.low_of(round)),
                    high = all_lanes(noise.key.high_of(round));
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k) {
        const __m512i a = product(w[k][0], factors[0]), b = product(w[k][2], factors[1]);
        w[k][0] = xor_of_three(upper(b), w[k][1], low);
        w[k][1] = b;
        w[k][2] = xor_of_three(upper(a), w[k][3], high);
        w[k][3] = a;
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < kCount; ++k) {
      store_pairs(w[k][0], w[k][2], words.first + i + k * kStep);
      store_pairs(w[k][1], w[k][3], words.second + i + k * kStep);
    }
  }
  ORBBEC_AVX512 static __m512i all_lanes(uint32_t v) {
    return _mm512_set1_epi32(static_cast<int>(v));
  }
  ORBBEC_AVX512 static __m512i product(__m512i a, __m512i b) {
    return _mm512_maskz_mul_epu32(-1, a, b);
  }
  ORBBEC_AVX512 static __m512i upper(__m512i v) { return _mm512_maskz_srli_epi64(-1, v, 32); }
  ORBBEC_AVX512 static __m512i xor_of_three(__m512i a, __m512i b, __m512i c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
  }
  ORBBEC_AVX512 static void store_pairs(__m512i a, __m512i b, uint32_t* to) {
    _mm512_storeu_si512(to, _mm512_mask_blend_epi32(0xaaaa, a, _mm512_maskz_slli_epi64(-1, b, 32)));
  }
};
#else
using Avx2Noise = ScalarNoise;
using Avx512Noise = ScalarNoise;
#endif

template <class Level>
ORBBEC_HD void normals_of(const NoiseWords& words, int pairs, float* normals) {
  float radius[kRunLength / 2], cosine[kRunLength / 2], sine[kRunLength / 2];
  for (int i = 0; i < pairs; ++i) radius[i] = squared_radius_of(words.first[i]);
  Level::root(radius, pairs);
  for (int i = 0; i < pairs; ++i) cosine_sine_of(words.second[i], cosine[i], sine[i]);
  for (int i = 0; i < pairs; ++i) {
    normals[2 * i] = radius[i] * cosine[i];
    normals[2 * i + 1] = radius[i] * sine[i];
  }
}

template <class Level, Noise kKind>
ORBBEC_HD void numbers_of_run(const NoiseKey& noise, const NoiseRun& run, float* numbers) {
  NoiseWords words;
  const int pairs = (run.length + kDrawn - 1) / kDrawn * (kDrawn / 2);
  Level::draw(noise, run.n, run.row * run.groups + run.group, pairs, words);
  if constexpr (kKind == Noise::kNormal) return normals_of<Level>(words, pairs, numbers);
  for (int i = 0; i < pairs; ++i) {
    const uint32_t first = words.first[i], second = words.second[i];
    numbers[2 * i] = kKind == Noise::kCentered ? centered_of(first) : uniform_of(first);
    numbers[2 * i + 1] = kKind == Noise::kCentered ? centered_of(second) : uniform_of(second);
  }
}

// Writes whole kDrawn numbers: some past the end of the run.
using DrawRun = void (*)(const NoiseKey& noise, const NoiseRun& run, float* numbers);

template <Noise kKind>
DrawRun draw_run(Simd level) {
  return compiled_to_avx512<numbers_of_run<ScalarNoise, kKind>, numbers_of_run<Avx2Noise, kKind>,
                            numbers_of_run<Avx512Noise, kKind>>(level);
}

}  // namespace orbbec
