// Pointwise noise on a CUDA device: a thread owns four neighboring pixels of a row in all channels
// and draws their numbers together, neighboring threads own neighboring pixels. Included by
// *_cuda.cu of this family; sees CUDA, never torch.
//
// A functor `op` has its pixel type Value, `source`, `output` and `noise`, the kind of its numbers
// kKind, whether all channels share those of a pixel (kSharesNumbers), what it knows of an image
// `op.scale_of(n)` of type Scale, and `op.noisy(pixel, scale, number)`.
#pragma once

#include "../core/noise.h"
#include "../executors/cuda/pointwise.h"

namespace orbbec {

// What a block knows of an image. A draw number is c * count + i for group i of channel c, or i
// where channels share numbers.
template <class Op>
struct NoisyImage {
  using T = typename Op::Value;
  GroupedPixels<const T> from;
  GroupedPixels<T> to;
  typename Op::Scale scale;
  PhiloxBlock counter;  // without the draw number
  int64_t count;        // of groups in a channel
  int groups;           // of a row
  bool is_short;        // draw numbers have 32 bits
  Packing packing;      // of groups of both images
};

template <class Op>
__device__ void load_shared(const Op& op, int64_t n, NoisyImage<Op>& shared) {
  using T = typename Op::Value;
  const int channels = static_cast<int>(op.output.channels);
  const Image<T> output = op.output[n];
  const auto from = GroupedPixels<const T>::of(op.source[n], channels);
  const auto to = GroupedPixels<T>::of(output, channels);
  const int groups = static_cast<int>((int64_t{output.width} + 3) / 4);
  const int64_t count = int64_t{groups} * output.height;
  const bool is_short = count < (1 << 30) && count * channels <= 0xffffffff;
  const bool alike = from.packing == to.packing && output.width % kGroup == 0;
  shared.from = from;
  shared.to = to;
  shared.scale = op.scale_of(n);
  shared.counter = philox_counter(noise_sample(op.noise, n), op.noise.position, 0);
  shared.count = count;
  shared.groups = groups;
  shared.is_short = is_short;
  shared.packing = alike && is_short ? to.packing : Packing::kNone;
}

template <Noise kKind>
__device__ PixelQuad<float> numbers_at(PhiloxBlock counter, const PhiloxRoundKeys& keys,
                                       uint32_t draw) {
  counter.words[0] = draw;
  return pixels_of<float, kKind>(philox(counter, keys));
}

template <Noise kKind>
__device__ PixelQuad<float> numbers_at(PhiloxBlock counter, const PhiloxRoundKeys& keys,
                                       int64_t draw) {
  counter.words[1] |= static_cast<uint32_t>(static_cast<uint64_t>(draw) >> 32) & 0xffffu;
  return numbers_at<kKind>(counter, keys, static_cast<uint32_t>(draw));
}

// Groups in planes: one load and one store each.
template <class Op>
__device__ void run_planes(const Op& op, const PhiloxRoundKeys& keys,
                           const NoisyImage<Op>& shared) {
  using T = typename Op::Value;
  const auto count = static_cast<uint32_t>(shared.count);
  const uint32_t draws = count * static_cast<uint32_t>(op.output.channels);
  const PhiloxBlock counter = shared.counter;
  const auto scale = shared.scale;
  const int64_t from_stride = shared.from.stride_c, to_stride = shared.to.stride_c;
  for (uint32_t i = blockIdx.x * kPointwiseThreads + threadIdx.x; i < count;
       i += gridDim.x * kPointwiseThreads) {
    const T* from = shared.from.data;
    T* to = shared.to.data;
    PixelQuad<float> numbers;
    if constexpr (Op::kSharesNumbers) numbers = numbers_at<Op::kKind>(counter, keys, i);
    ORBBEC_ROLLED
    for (uint32_t draw = i; draw < draws; draw += count) {
      const GroupValues<T> pixels = reinterpret_cast<const GroupValues<T>*>(from)[i];
      if constexpr (!Op::kSharesNumbers) numbers = numbers_at<Op::kKind>(counter, keys, draw);
      GroupValues<T> sums;
      for (int k = 0; k < kGroup; ++k)
        sums.values[k] = op.noisy(pixels.values[k], scale, numbers.values[k]);
      reinterpret_cast<GroupValues<T>*>(to)[i] = sums;
      from += from_stride;
      to += to_stride;
    }
  }
}

// The same for three interleaved channels of bytes, through shared memory.
template <class Op>
__device__ void run_pixels(const Op& op, const PhiloxRoundKeys& keys, const NoisyImage<Op>& shared,
                           uint32_t* staged) {
  const auto count = static_cast<uint32_t>(shared.count);
  const uint32_t lane = threadIdx.x % kWarp;
  const PhiloxBlock counter = shared.counter;
  const auto scale = shared.scale;
  for (uint32_t first = blockIdx.x * kPointwiseThreads + threadIdx.x - lane; first < count;
       first += gridDim.x * kPointwiseThreads) {
    int pixels[kGroup][3];
    uint8_t sums[kGroup][3];
    load_group(shared.from, static_cast<int>(first), static_cast<int>(count), staged, pixels);
    PixelQuad<float> numbers;
#pragma unroll
    for (uint32_t c = 0; c < 3; ++c) {
      if (!Op::kSharesNumbers || c == 0)
        numbers = numbers_at<Op::kKind>(counter, keys, c * count + (first + lane));
      for (int k = 0; k < kGroup; ++k)
        sums[k][c] = op.noisy(static_cast<uint8_t>(pixels[k][c]), scale, numbers.values[k]);
    }
    store_group(shared.to, static_cast<int>(first), static_cast<int>(count), staged, sums);
  }
}

// Any layout and width.
template <class Op>
__device__ void run_columns(const Op& op, const PhiloxRoundKeys& keys, const NoisyImage<Op>& shared,
                            int64_t n) {
  using T = typename Op::Value;
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  for (int64_t i = int64_t{blockIdx.x} * kPointwiseThreads + threadIdx.x; i < shared.count;
       i += int64_t{gridDim.x} * kPointwiseThreads) {
    const int y = static_cast<int>(shared.is_short ? static_cast<uint32_t>(i) /
                                                         static_cast<uint32_t>(shared.groups)
                                                   : i / shared.groups);
    const int first = static_cast<int>(i - int64_t{y} * shared.groups) * kGroup;
    PixelQuad<float> numbers;
    if constexpr (Op::kSharesNumbers) numbers = numbers_at<Op::kKind>(shared.counter, keys, i);
    ORBBEC_ROLLED
    for (int64_t c = 0; c < op.output.channels; ++c) {
      if constexpr (!Op::kSharesNumbers)
        numbers = numbers_at<Op::kKind>(shared.counter, keys, c * shared.count + i);
      for (int k = 0; k < kGroup; ++k) {
        if (first >= to.width - k) break;
        to.at(y, first + k, c) =
            op.noisy(from.at(y, first + k, c), shared.scale, numbers.values[k]);
      }
    }
  }
}

// A thread owns four neighbors of a row in all channels, a Philox block each, and every
// (gridDim.x * 256)-th such group of an image. Each byte is read once. Interleaved channels of
// bytes pass through shared memory, 12 bytes per thread.
template <class Op>
__global__ void __launch_bounds__(kPointwiseThreads, blocks_of(kPointwiseThreads, 64))
    noise_kernel(const Op op, const PhiloxRoundKeys keys) {
  constexpr bool kBytes = std::is_same_v<typename Op::Value, uint8_t>;
  __shared__ NoisyImage<Op> shared;
  __shared__ uint32_t staged[kPointwiseWarps][kBytes ? kWarp * kStagedWords<uint8_t> : 1];
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    if (threadIdx.x == 0) load_shared(op, n, shared);
    __syncthreads();
    if (shared.packing == Packing::kPlanes) {
      run_planes(op, keys, shared);
    } else if (kBytes && shared.packing == Packing::kPixels) {
      if constexpr (kBytes) run_pixels(op, keys, shared, staged[threadIdx.x / kWarp]);
    } else {
      run_columns(op, keys, shared, n);
    }
    __syncthreads();
  }
}

template <class Op>
int launch_noise(const Op& op, void* stream) {
  return launch(noise_kernel<Op>, dim3(runs_per_image(op.output), grid_blocks(op.output.count)),
                dim3(kPointwiseThreads), 0, stream, op, PhiloxRoundKeys(op.noise.key));
}

}  // namespace orbbec
