// The gradient of feature maps from that of regions, on a CUDA device. Included by
// roi_align/roi_cuda.h and roi_pool_cuda.cu.
//
// An operator lists the terms of the sum of a pixel, which are the same in all channels:
//
//   struct Op {
//     using F = ...;                                        // of sums
//     using Pixel = ...;
//     struct Term { ... };
//     struct Value { ... };                                 // what a term reads in one channel
//     Images<Pixel> features;                               // the result
//     int64_t regions;
//     bool touches(int64_t k, int64_t n, int y, int x) const;  // region k, a tile with that corner
//     // The terms of region k, from a row of them on; goes on after a row if next_row() says so.
//     // Returns whether it reached the end.
//     bool for_each_term(int64_t k, int y, int x, int row, visit, next_row) const;
//     Value value(const Term& term, int64_t c) const;
//     void add(const Term& term, const Value& value, F& sum) const;
//   };
#pragma once

#include "../executors/executor_cuda.h"
#include "roi.h"

namespace orbbec {

constexpr int kRoiThreads = 128;
constexpr int kRoiTileWidth = 16, kRoiTileHeight = kRoiThreads / kRoiTileWidth;
constexpr int kRoiTermBytes = 96;  // of a pixel, in shared memory

template <class Word>
struct ToChannelsLast {
  static constexpr int kChannels = 32, kBins = 64;
  Images<const Word> from;
  Word* to;  // [count, height, width, channels]
};

// A block moves 32 channels of 64 bins through 8 KB of shared memory (for 4-byte words), so that
// loads follow the bins and stores the channels.
template <class Word>
__global__ void __launch_bounds__(256, 1) to_channels_last_kernel(const ToChannelsLast<Word> op) {
  constexpr int kChannels = ToChannelsLast<Word>::kChannels, kBins = ToChannelsLast<Word>::kBins;
  constexpr int kWarps = 256 / kWarp;
  __shared__ Word tile[kChannels][kBins + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int width = op.from.width, bins = op.from.height * width;
  const int first = static_cast<int>(blockIdx.x) * kBins;
  const int64_t channels = op.from.channels;
  for (int64_t n = blockIdx.z; n < op.from.count; n += gridDim.z) {
    const Image<const Word> from = op.from[n];
    for (int64_t c = int64_t{blockIdx.y} * kChannels; c < channels;
         c += int64_t{gridDim.y} * kChannels) {
      for (int bin = lane; bin < kBins && first + bin < bins; bin += kWarp) {
        const Word* const column = &from.at((first + bin) / width, (first + bin) % width, c);
        for (int i = warp; i < kChannels && c + i < channels; i += kWarps) {
          tile[i][bin] = column[i * from.stride_c];
        }
      }
      __syncthreads();
      if (c + lane < channels) {
        for (int bin = warp; bin < kBins && first + bin < bins; bin += kWarps) {
          op.to[(n * bins + first + bin) * channels + c + lane] = tile[lane][bin];
        }
      }
      __syncthreads();
    }
  }
}

// Copies images of words of the size of T to `rows`, [count, height, width, channels].
template <class T>
int to_channels_last_cuda(const AnyImages& images, void* rows, void* stream) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  using Op = ToChannelsLast<Word>;
  const int64_t bins = int64_t{images.height} * images.width;
  const int64_t chunks = (images.channels + Op::kChannels - 1) / Op::kChannels;
  const dim3 grid(static_cast<unsigned>((bins + Op::kBins - 1) / Op::kBins),
                  static_cast<unsigned>(chunks < kMaxGridYZ ? chunks : kMaxGridYZ),
                  static_cast<unsigned>(images.count < kMaxGridYZ ? images.count : kMaxGridYZ));
  return launch(to_channels_last_kernel<Word>, grid, dim3(256), 0, stream,
                Op{Images<const Word>(images), static_cast<Word*>(rows)});
}

// What a block shares. A sum has one more channel than it needs, for the banks.
template <class Op>
struct RoiGradientTile {
  using F = typename Op::F;
  static constexpr int kPerLane = 8 / sizeof(F);
  static constexpr int kChannels = kPerLane * kWarp;
  static constexpr int kTerms = kRoiTermBytes / sizeof(typename Op::Term);

  F sums[kRoiThreads][kChannels + 1];
  typename Op::Term terms[kTerms][kRoiThreads];
  int touching[kRoiThreads];  // regions of a batch, in order
  unsigned votes[kRoiThreads / kWarp];
};

// Collects the regions [begin, begin + 128) that touch the tile, in order; returns their number.
template <class Op>
__device__ __forceinline__ int collect_regions(const Op& op, int64_t begin, int64_t n, int top,
                                               int left, RoiGradientTile<Op>& tile) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int64_t own = begin + thread;
  const bool touches = own < op.regions && op.touches(own, n, top, left);
  const unsigned votes = __ballot_sync(kAllLanes, touches);
  __syncthreads();
  if (lane == 0) tile.votes[warp] = votes;
  __syncthreads();
  int total = 0, before = 0;
  for (int w = 0; w < kRoiThreads / kWarp; ++w) {
    if (w == warp) before = total;
    total += __popc(tile.votes[w]);
  }
  if (touches) tile.touching[before + __popc(votes & ((1u << lane) - 1))] = thread;
  __syncthreads();
  return total;
}

// Adds the listed terms of a pixel to its sums, a lane to its channels. Values are read for three
// terms at a time, since a read waits for memory.
template <class Op>
__device__ __forceinline__ void add_terms(const Op& op, int pixel, int count, int64_t channel,
                                          RoiGradientTile<Op>& tile) {
  using Tile = RoiGradientTile<Op>;
  constexpr int kTogether = 3;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t last = op.features.channels - 1;
  typename Op::F sums[Tile::kPerLane];
#pragma unroll
  for (int i = 0; i < Tile::kPerLane; ++i) sums[i] = tile.sums[pixel][i * kWarp + lane];
  for (int t = 0; t < count; t += kTogether) {
    typename Op::Term terms[kTogether];
    typename Op::Value values[kTogether][Tile::kPerLane];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      terms[j] = tile.terms[smaller(t + j, count - 1)][pixel];
#pragma unroll
      for (int i = 0; i < Tile::kPerLane; ++i) {
        values[j][i] = op.value(terms[j], smaller(channel + i * kWarp + lane, last));
      }
    }
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      if (t + j >= count) break;
#pragma unroll
      for (int i = 0; i < Tile::kPerLane; ++i) op.add(terms[j], values[j][i], sums[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < Tile::kPerLane; ++i) tile.sums[pixel][i * kWarp + lane] = sums[i];
}

// Adds the terms of a batch of regions to the sums of a warp's pixels. Lanes first list terms of
// their own pixel, as many as fit, and then add those of each pixel.
template <class Op>
__device__ __forceinline__ void add_regions(const Op& op, int64_t begin, int total, int y, int x,
                                            int64_t channel, RoiGradientTile<Op>& tile) {
  using Tile = RoiGradientTile<Op>;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const bool inside = y < op.features.height && x < op.features.width;
  int next = inside ? 0 : total;  // region
  int row = 0, taken = 0;         // of its terms: whole rows, and how many of the next row
  while (__any_sync(kAllLanes, next < total)) {
    int listed = 0;
    while (next < total && listed < Tile::kTerms) {
      int seen = 0;  // of this row
      const auto list = [&](const typename Op::Term& term) {
        if (seen++ < taken || listed == Tile::kTerms) return;
        tile.terms[listed++][thread] = term;
        ++taken;
      };
      const auto next_row = [&] {
        if (taken < seen) return false;
        ++row;
        taken = seen = 0;
        return listed < Tile::kTerms;
      };
      if (!op.for_each_term(begin + tile.touching[next], y, x, row, list, next_row)) break;
      ++next;
      row = taken = 0;
    }
    __syncwarp();
    for (unsigned pixels = __ballot_sync(kAllLanes, listed > 0); pixels != 0;
         pixels &= pixels - 1) {
      const int from = __ffs(static_cast<int>(pixels)) - 1;
      const int count = __shfl_sync(kAllLanes, listed, from);
      add_terms(op, thread - lane + from, count, channel, tile);
    }
    __syncwarp();
  }
}

// Stores the sums of a warp's pixels, lanes along the pixels or along the channels.
template <class Op>
__device__ __forceinline__ void store_sums(const Op& op, int64_t n, int top, int left,
                                           int64_t channel, RoiGradientTile<Op>& tile) {
  using Tile = RoiGradientTile<Op>;
  using Pixel = typename Op::Pixel;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const Image<Pixel> target = op.features[n];
  const int64_t rest = op.features.channels - channel;
  const int count = rest < Tile::kChannels ? static_cast<int>(rest) : Tile::kChannels;
  if (target.stride_c != 1) {
    const int y = top + thread / kRoiTileWidth, x = left + thread % kRoiTileWidth;
    if (!target.contains(y, x)) return;
    Pixel* const to = &target.at(y, x, channel);
    for (int c = 0; c < count; ++c) to[c * target.stride_c] = store<Pixel>(tile.sums[thread][c]);
    return;
  }
  for (int pixel = thread - lane; pixel < thread - lane + kWarp; ++pixel) {
    const int y = top + pixel / kRoiTileWidth, x = left + pixel % kRoiTileWidth;
    if (!target.contains(y, x)) continue;
    for (int c = lane; c < count; c += kWarp) {
      target.at(y, x, channel + c) = store<Pixel>(tile.sums[pixel][c]);
    }
  }
}

// A block owns a tile of 16 x 8 pixels of an image in 64 channels (32 of double); a thread owns a
// pixel when it searches for terms, and 2 channels (1) of the pixels of its warp when it adds them.
// Shared memory: 46 KB. A value of the gradient is read by the few tiles around its bin.
template <class Op>
__global__ void __launch_bounds__(kRoiThreads, 1) add_roi_gradient_kernel(const Op op) {
  using Tile = RoiGradientTile<Op>;
  __shared__ Tile tile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int tiles_x = (op.features.width + kRoiTileWidth - 1) / kRoiTileWidth;
  const int left = static_cast<int>(blockIdx.x) % tiles_x * kRoiTileWidth;
  const int top = static_cast<int>(blockIdx.x) / tiles_x * kRoiTileHeight;
  const int y = top + thread / kRoiTileWidth, x = left + thread % kRoiTileWidth;
  for (int64_t n = blockIdx.z; n < op.features.count; n += gridDim.z) {
    for (int64_t channel = int64_t{blockIdx.y} * Tile::kChannels; channel < op.features.channels;
         channel += int64_t{gridDim.y} * Tile::kChannels) {
      for (int pixel = thread - lane; pixel < thread - lane + kWarp; ++pixel) {
        for (int c = lane; c < Tile::kChannels; c += kWarp) tile.sums[pixel][c] = 0;
      }
      __syncwarp();
      for (int64_t begin = 0; begin < op.regions; begin += kRoiThreads) {
        const int total = collect_regions(op, begin, n, top, left, tile);
        add_regions(op, begin, total, y, x, channel, tile);
      }
      store_sums(op, n, top, left, channel, tile);
      __syncwarp();
    }
  }
}

template <class Op>
int launch_roi_gradient(const Op& op, void* stream) {
  constexpr int kChannels = RoiGradientTile<Op>::kChannels;
  const auto& to = op.features;
  const int64_t tiles = ((int64_t{to.width} + kRoiTileWidth - 1) / kRoiTileWidth) *
                        ((int64_t{to.height} + kRoiTileHeight - 1) / kRoiTileHeight);
  const int64_t chunks = (to.channels + kChannels - 1) / kChannels;
  const dim3 grid(static_cast<unsigned>(tiles),
                  static_cast<unsigned>(chunks < kMaxGridYZ ? chunks : kMaxGridYZ),
                  static_cast<unsigned>(to.count < kMaxGridYZ ? to.count : kMaxGridYZ));
  return launch(add_roi_gradient_kernel<Op>, grid, dim3(kRoiThreads), 0, stream, op);
}

}  // namespace orbbec
