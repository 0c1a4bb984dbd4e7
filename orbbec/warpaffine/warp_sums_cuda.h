// The taps of a pixel: located, read by a reader and summed by the sampler's steps. Included by
// warp_cuda.h.
#pragma once

#include "../executors/cuda/launch.h"
#include "warp_taps_cuda.h"

namespace orbbec {

template <class Sampler>
struct TabulatedKernel {
  static constexpr bool kIsTabulated = false;
};
template <class KernelOfSampler>
struct TabulatedKernel<TabulatedSampler<KernelOfSampler>> {
  static constexpr bool kIsTabulated = true;
  using Kernel = KernelOfSampler;
};

// Whether an op's taps are summed here: of the tabulated samplers, only those of bytes are.
template <class Op>
constexpr bool kIsTabulated = TabulatedKernel<typename Op::Sampler>::kIsTabulated;
template <class Op>
constexpr bool kSumsProducts = kIsTabulated<Op> && std::is_same_v<typename Op::Value, uint8_t>;
template <class Op>
constexpr bool kSumsTaps = !kIsTabulated<Op> || kSumsProducts<Op>;

// Registers of a thread: 8 x 8 taps and numbers in double take more than pay where they are
// spilled.
template <class Op>
constexpr int kWarpRegisters =
    !kSumsTaps<Op> || (Op::Sampler::kSize == 8 && Op::Transform::kNumbers == 9) ? 255
    : Op::Sampler::kSize == 8 || sizeof(typename Op::Transform::Number) == 8    ? 128
                                                                                : 64;

// The weights of TabulatedSampler, [kSize][kFractions]: the lanes of a warp read any fractions
// without bank conflicts.
template <class Op>
constexpr int kTableSize = kSumsProducts<Op> ? Op::Sampler::kSize * kFractions : 1;

template <class Op>
__device__ __forceinline__ void fill_table(float* table) {
  if constexpr (kSumsProducts<Op>) {
    using Sampler = typename Op::Sampler;
    const int fraction = threadIdx.x;
    if (threadIdx.y == 0) {
      float weights[Sampler::kSize];
      TabulatedKernel<Sampler>::Kernel::weights(fraction, weights);
#pragma unroll
      for (int i = 0; i < Sampler::kSize; ++i) table[i * kFractions + fraction] = weights[i];
    }
    __syncthreads();
  }
}

// The tap of a pixel; without the correction, which `sum_products` makes.
template <class Op>
__device__ __forceinline__ typename Op::Tap locate_tap(const Op& op,
                                                       const typename Op::Transform& transform,
                                                       const Image<const typename Op::Value>& image,
                                                       int64_t n, int y, int x) {
  using T = typename Op::Value;
  const Source<T> source{image, op.border, T{}};
  if constexpr (kSumsProducts<Op>) {
    return Op::Sampler::template locate_uncorrected<T>(transform, source, n, y, x);
  } else {
    return Op::Sampler::template locate<T>(transform, source, n, y, x);
  }
}

// TabulatedSampler's sum of bytes: each product of weights is made once for all channels.
template <class Op, class Reader, int kChannels>
__device__ __forceinline__ void sum_products(const float* table, typename Op::Tap tap,
                                             const Reader& reader,
                                             Pixel<uint8_t> (&values)[kChannels]) {
  using Sampler = typename Op::Sampler;
  constexpr int kSize = Sampler::kSize;
  float wx[kSize];
#pragma unroll
  for (int q = 0; q < kSize; ++q) {
    wx[q] = Sampler::scaled_weight(table[q * kFractions + tap.fraction_x]);
  }
  int sums[kChannels], total = 0;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) sums[c] = kWeightRound;
#pragma unroll 1
  for (int r = 0; r < kSize; ++r) {
    const float wy = table[r * kFractions + tap.fraction_y];
    uint32_t pixels[kChannels][kSize];
    reader.read_row(r, pixels);
#pragma unroll
    for (int q = 0; q < kSize; ++q) {
      const int weight = Sampler::fixed_weight(wy, wx[q], q);
      total += weight;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sums[c] += static_cast<int>(pixels[c][q]) * weight;
    }
  }
  const float middle[2] = {table[kSize / 2 * kFractions + tap.fraction_y],
                           table[(kSize / 2 + 1) * kFractions + tap.fraction_y]};
  Sampler::correct(tap, total, wx, middle);
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const int corrected = reader.pixel(tap.corrected / kSize, tap.corrected % kSize, c);
    values[c] = Sampler::rounded(sums[c] + corrected * tap.correction);
  }
}

template <class Op, class Reader, int kChannels>
__device__ __forceinline__ void sum_taps(const float* table, const typename Op::Tap& tap,
                                         const Reader& reader,
                                         Pixel<typename Op::Value> (&values)[kChannels]) {
  using T = typename Op::Value;
  using Sampler = typename Op::Sampler;
  if constexpr (kSumsProducts<Op>) {
    sum_products<Op>(table, tap, reader, values);
  } else {
    constexpr bool kIsBiased = Reader::kIsPacked && std::is_same_v<Sampler, LinearSampler>;
    using Value = std::conditional_t<kIsBiased, BiasedByte, Pixel<T>>;
    const auto weights = Sampler::template weights_of<T>(tap);
    typename Sampler::template Sum<T> sums[kChannels] = {};
#pragma unroll
    for (int r = 0; r < Sampler::kSize; ++r) {
      Value pixels[kChannels][Sampler::kSize];
      reader.read_row(r, pixels);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        Sampler::template add_row<T>(weights, r, pixels[c], sums[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      if constexpr (Reader::kIsInside) {
        values[c] = Sampler::template rounded_inside<T>(sums[c]);
      } else {
        values[c] = Sampler::template rounded<T>(sums[c]);
      }
    }
  }
}

}  // namespace orbbec
