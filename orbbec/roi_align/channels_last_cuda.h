// Copies images so that their channels come last. Included by roi_align/roi_gather_cuda.h.
#pragma once

#include "../executors/cuda/tiles.h"
#include "../executors/cuda/warp.h"

namespace orbbec {

template <class Word>
struct ToChannelsLast {
  static constexpr int kChannels = 32, kBins = 64;
  Images<const Word> from;
  Word* to;        // [count, height, width, stride]
  int64_t stride;  // channels with padding
};

// A block moves 32 channels of 64 bins through 8 KB of shared memory (for 4-byte words), so that
// loads follow the bins and stores the channels. A thread of each image calls prepare(0, n).
template <class Word, class Prepare>
__global__ void __launch_bounds__(256, 4)
    to_channels_last_kernel(const ToChannelsLast<Word> op, const Prepare prepare) {
  constexpr int kChannels = ToChannelsLast<Word>::kChannels, kBins = ToChannelsLast<Word>::kBins;
  constexpr int kWarps = 256 / kWarp, kPerLane = kBins / kWarp;
  __shared__ Word tile[kChannels][kBins + 1];
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int width = op.from.width, bins = op.from.height * width;
  const int first = static_cast<int>(blockIdx.x) * kBins, count = smaller(bins - first, kBins);
  const int64_t channels = op.from.channels;
  int64_t offsets[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int bin = first + smaller(i * kWarp + lane, count - 1);
    offsets[i] = bin / width * op.from.stride_y + bin % width * op.from.stride_x;
  }
  for (int64_t n = blockIdx.z; n < op.from.count; n += gridDim.z) {
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0) prepare(0, static_cast<int>(n));
    for (int64_t c = int64_t{blockIdx.y} * kChannels; c < channels;
         c += int64_t{gridDim.y} * kChannels) {
      const Word* const from = &op.from[n].at(0, 0, c);
      const int left = static_cast<int>(smaller<int64_t>(channels - c, kChannels));
#pragma unroll 2  // of four, which take more registers
      for (int i = warp; i < left; i += kWarps) {
#pragma unroll
        for (int j = 0; j < kPerLane; ++j) {
          tile[i][j * kWarp + lane] = from[i * op.from.stride_c + offsets[j]];
        }
      }
      __syncthreads();
      Word* const to = op.to + (n * bins + first) * op.stride + c + lane;
#pragma unroll 2
      for (int bin = warp; bin < count && lane < left; bin += kWarps) {
        to[bin * op.stride] = tile[lane][bin];
      }
      __syncthreads();
    }
  }
}

// Copies images of words of the size of T to `rows`, [count, height, width, stride], and calls
// prepare(0, n) for each.
template <class T, class Prepare>
int to_channels_last_cuda(const AnyImages& images, void* rows, int64_t stride,
                          const Prepare& prepare, void* stream) {
  using Word = WordOf<T>;
  using Op = ToChannelsLast<Word>;
  const int64_t bins = int64_t{images.height} * images.width;
  const int64_t chunks = (images.channels + Op::kChannels - 1) / Op::kChannels;
  const dim3 grid(static_cast<unsigned>((bins + Op::kBins - 1) / Op::kBins), grid_blocks(chunks),
                  grid_blocks(images.count));
  return launch(to_channels_last_kernel<Word, Prepare>, grid, dim3(256), 0, stream,
                Op{Images<const Word>(images), static_cast<Word*>(rows), stride}, prepare);
}

}  // namespace orbbec
