// gaussian_noise on a CUDA device: a thread owns four neighboring pixels of a row in all channels
// and draws their normals together, neighboring threads own neighboring pixels.
#include "../executors/cuda/pointwise.h"
#include "noise.h"

namespace orbbec {
namespace {

// What a block knows of an image. A draw number is c * count + i for group i of channel c.
template <class T>
struct NoisyImage {
  GroupedPixels<const T> from;
  GroupedPixels<T> to;
  NoiseScale<Compute<T>> scale;
  PhiloxBlock counter;  // without the draw number
  int64_t count;        // of groups in a channel
  int groups;           // of a row
  bool is_short;        // draw numbers have 32 bits
  Packing packing;      // of groups of both images
};

template <class T>
__device__ void load_shared(const GaussianNoise<T>& op, int64_t n, NoisyImage<T>& shared) {
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

__device__ PixelQuad<float> normals_at(PhiloxBlock counter, const PhiloxRoundKeys& keys,
                                       uint32_t draw) {
  counter.words[0] = draw;
  return pixels_of<float, Noise::kNormal>(philox(counter, keys));
}

__device__ PixelQuad<float> normals_at(PhiloxBlock counter, const PhiloxRoundKeys& keys,
                                       int64_t draw) {
  counter.words[1] |= static_cast<uint32_t>(static_cast<uint64_t>(draw) >> 32) & 0xffffu;
  return normals_at(counter, keys, static_cast<uint32_t>(draw));
}

// Groups in planes: one load and one store each.
template <class T>
__device__ void run_planes(const GaussianNoise<T>& op, const PhiloxRoundKeys& keys,
                           const NoisyImage<T>& shared) {
  const auto count = static_cast<uint32_t>(shared.count);
  const uint32_t draws = count * static_cast<uint32_t>(op.output.channels);
  const PhiloxBlock counter = shared.counter;
  const auto scale = shared.scale;
  const int64_t from_stride = shared.from.stride_c, to_stride = shared.to.stride_c;
  for (uint32_t i = blockIdx.x * kPointwiseThreads + threadIdx.x; i < count;
       i += gridDim.x * kPointwiseThreads) {
    const T* from = shared.from.data;
    T* to = shared.to.data;
    ORBBEC_ROLLED
    for (uint32_t draw = i; draw < draws; draw += count) {
      const GroupValues<T> pixels = reinterpret_cast<const GroupValues<T>*>(from)[i];
      const PixelQuad<float> normals = normals_at(counter, keys, draw);
      GroupValues<T> sums;
      for (int k = 0; k < kGroup; ++k)
        sums.values[k] = op.noisy(pixels.values[k], scale, normals.values[k]);
      reinterpret_cast<GroupValues<T>*>(to)[i] = sums;
      from += from_stride;
      to += to_stride;
    }
  }
}

// The same for three interleaved channels of bytes, through shared memory.
__device__ void run_pixels(const GaussianNoise<uint8_t>& op, const PhiloxRoundKeys& keys,
                           const NoisyImage<uint8_t>& shared, uint32_t* staged) {
  const auto count = static_cast<uint32_t>(shared.count);
  const uint32_t lane = threadIdx.x % kWarp;
  const PhiloxBlock counter = shared.counter;
  const auto scale = shared.scale;
  for (uint32_t first = blockIdx.x * kPointwiseThreads + threadIdx.x - lane; first < count;
       first += gridDim.x * kPointwiseThreads) {
    int pixels[kGroup][3];
    uint8_t sums[kGroup][3];
    load_group(shared.from, static_cast<int>(first), static_cast<int>(count), staged, pixels);
#pragma unroll
    for (uint32_t c = 0; c < 3; ++c) {
      const PixelQuad<float> normals = normals_at(counter, keys, c * count + (first + lane));
      for (int k = 0; k < kGroup; ++k)
        sums[k][c] = op.noisy(static_cast<uint8_t>(pixels[k][c]), scale, normals.values[k]);
    }
    store_group(shared.to, static_cast<int>(first), static_cast<int>(count), staged, sums);
  }
}

// Any layout and width.
template <class T>
__device__ void run_columns(const GaussianNoise<T>& op, const PhiloxRoundKeys& keys,
                            const NoisyImage<T>& shared, int64_t n) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  for (int64_t i = int64_t{blockIdx.x} * kPointwiseThreads + threadIdx.x; i < shared.count;
       i += int64_t{gridDim.x} * kPointwiseThreads) {
    const int y = static_cast<int>(shared.is_short ? static_cast<uint32_t>(i) /
                                                         static_cast<uint32_t>(shared.groups)
                                                   : i / shared.groups);
    const int first = static_cast<int>(i - int64_t{y} * shared.groups) * kGroup;
    ORBBEC_ROLLED
    for (int64_t c = 0; c < op.output.channels; ++c) {
      const PixelQuad<float> normals = normals_at(shared.counter, keys, c * shared.count + i);
      for (int k = 0; k < kGroup; ++k) {
        if (first >= to.width - k) break;
        to.at(y, first + k, c) =
            op.noisy(from.at(y, first + k, c), shared.scale, normals.values[k]);
      }
    }
  }
}

// A thread owns four neighbors of a row in all channels, a Philox block each, and every
// (gridDim.x * 256)-th such group of an image. Each byte is read once. Interleaved channels of
// bytes pass through shared memory, 12 bytes per thread.
template <class T>
__global__ void __launch_bounds__(kPointwiseThreads, blocks_of(kPointwiseThreads, 64))
    gaussian_noise_kernel(const GaussianNoise<T> op, const PhiloxRoundKeys keys) {
  constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  __shared__ NoisyImage<T> shared;
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

}  // namespace

int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream) {
  return dispatch_gaussian_noise(arguments, [&](const auto& op) {
    return launch(gaussian_noise_kernel<std::decay_t<decltype(*op.output[0].data)>>,
                  dim3(runs_per_image(op.output), grid_blocks(op.output.count)),
                  dim3(kPointwiseThreads), 0, stream, op, PhiloxRoundKeys(op.noise.key));
  });
}

}  // namespace orbbec
