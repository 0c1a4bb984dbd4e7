// The gradients of a warp on a CUDA device. Included by *_cuda.cu of the warps.
//
// The first kernel finds which tiles of the images each cell of the output reads, and sums the
// gradient of the transform. A block of the second owns a tile, goes through the cells that read
// it, and adds their gradients in shared memory. No sum of an image is in global memory.
#pragma once

#include "../executors/cuda/tiles.h"
#include "../executors/cuda/warp.h"
#include "warp_backward.h"

namespace orbbec {

constexpr int kStripsPerBlock = 8;
constexpr int kSourceWidth = 64, kSourceHeight = 32;  // of a tile of the images
constexpr int kSourcePixels = kSourceWidth * kSourceHeight;
constexpr int kChannelsAtOnce = 3;
constexpr int kSourceThreads = 256;

// A range has 16 bits: the tiles of larger images than 4 million columns count as one.
ORBBEC_HD unsigned tile_of(int pixel, unsigned step) {
  return smaller(static_cast<unsigned>(pixel) / step, 0xffffu);
}

// The tiles that the lanes of a warp read.
template <class Op>
__device__ __forceinline__ TileRange tiles_read(const Op& op,
                                                const Image<const typename Op::Value>& image,
                                                const typename Op::Position& at) {
  unsigned left = 0xffffu, top = 0xffffu, right = 0, bottom = 0;
  if (at.valid) {
    const ReadPixels pixels = op.read_pixels(image, at);
#pragma unroll
    for (int i = 0; i < Op::kTaps; ++i) {
      if (pixels.x[i] >= 0) {
        left = smaller(left, tile_of(pixels.x[i], kSourceWidth));
        right = larger(right, tile_of(pixels.x[i], kSourceWidth));
      }
      if (pixels.y[i] >= 0) {
        top = smaller(top, tile_of(pixels.y[i], kSourceHeight));
        bottom = larger(bottom, tile_of(pixels.y[i], kSourceHeight));
      }
    }
  }
  return {static_cast<uint16_t>(warp_min(left)), static_cast<uint16_t>(warp_min(top)),
          static_cast<uint16_t>(warp_max(right)), static_cast<uint16_t>(warp_max(bottom))};
}

// A warp owns a strip. No shared memory.
template <class Op>
__global__ void __launch_bounds__(kStripsPerBlock* kCellPixels, 2)
    backward_strips_kernel(const Op op, TileRange* reads, int64_t count, int strips_x, int strips) {
  using T = typename Op::Value;
  constexpr int kNumbers = Op::kNumbers;
  const int lane = threadIdx.x;
  const int strip = static_cast<int>(blockIdx.x) * kStripsPerBlock + threadIdx.y;
  if (strip >= strips) return;
  const int column = strip % strips_x, x = column * kCellWidth + lane % kCellWidth;
  for (int64_t n = blockIdx.z; n < count; n += gridDim.z) {
    const Image<const T> image = op.warp.source[n];
    const Image<T> gradient = op.warp.output[n];
    TileRange* const ranges = reads + n * cells_of(gradient.height, gradient.width) + column;
    double numbers[kNumbers + 1] = {};
    const int top = strip / strips_x * kStripHeight;
    const int bottom = smaller(top + kStripHeight, gradient.height);
    for (int cell = top / kCellHeight; cell * kCellHeight < bottom; ++cell) {
      const int y = cell * kCellHeight + lane / kCellWidth;
      const bool inside = y < gradient.height && x < gradient.width;
      typename Op::Position at{};
      if (inside) at = op.position(image, n, y, x);
      const TileRange range = tiles_read(op, image, at);
      if (lane == 0) ranges[static_cast<int64_t>(cell) * strips_x] = range;
      if (inside) op.add_position(image, gradient, n, y, x, at, numbers);
    }
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      const double sum = warp_sum(numbers[i]);
      if (lane == 0) op.strip_sums[(n * strips + strip) * kNumbers + i] = sum;
    }
  }
}

// The shared memory of a block: sums of 64 bits as two halves, since it has no atomic addition of
// 64 bits, and the cells that read the tile, as threads of the block.
struct alignas(uint4) SharedSums {
  unsigned low[kChannelsAtOnce * kSourcePixels], high[kChannelsAtOnce * kSourcePixels];
  int found;
  uint16_t cells[kSourceThreads];

  __device__ void add(int i, int64_t count) {
    const unsigned added = static_cast<unsigned>(count);
    const unsigned carry = atomicAdd(low + i, added) + added < added ? 1 : 0;
    atomicAdd(high + i, static_cast<unsigned>(count >> 32) + carry);
  }
  __device__ int64_t operator[](int i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(high[i]) << 32 | low[i]);
  }
  __device__ void clear() {
    uint4* const words = reinterpret_cast<uint4*>(this);
    for (unsigned i = threadIdx.x; i < sizeof(*this) / sizeof(uint4); i += kSourceThreads) {
      words[i] = uint4{0, 0, 0, 0};
    }
  }
};

// A tile of `channels` channels of an image, from channel `first`.
struct SourceTile {
  int left, top, first, channels;

  // The index of a sum; negative outside the tile.
  __device__ int index(int x, int y) const {
    const unsigned column = static_cast<unsigned>(x - left), row = static_cast<unsigned>(y - top);
    return column < kSourceWidth && row < kSourceHeight
               ? static_cast<int>(row * kSourceWidth + column)
               : -1;
  }
};

// Adds what a pixel passes to a tile.
template <class Op>
__device__ __forceinline__ void add_pixel(const Op& op,
                                          const Image<const typename Op::Value>& image,
                                          const Image<typename Op::Value>& gradient, int64_t n,
                                          int y, int x, const SourceTile& tile,
                                          const Unit<typename Op::F>& unit, SharedSums& sums) {
  const auto at = op.position(image, n, y, x);
  if (!at.valid) return;
  const ReadPixels pixels = op.read_pixels(image, at);
  int index[Op::kTaps][Op::kTaps], inside = -1;
#pragma unroll
  for (int r = 0; r < Op::kTaps; ++r) {
#pragma unroll
    for (int q = 0; q < Op::kTaps; ++q) {
      index[r][q] = tile.index(pixels.x[q], pixels.y[r]);
      inside = larger(inside, index[r][q]);
    }
  }
  if (inside < 0) return;
  const typename Op::Weights weights(at);
  typename Op::Value g[kChannelsAtOnce];
#pragma unroll
  for (int c = 0; c < kChannelsAtOnce; ++c) {
    if (c < tile.channels) g[c] = gradient.at(y, x, tile.first + c);
  }
#pragma unroll
  for (int c = 0; c < kChannelsAtOnce; ++c) {
    if (c >= tile.channels) break;
    Op::scatter(weights, g[c], unit, [&](int r, int q, int64_t units) {
      if (index[r][q] >= 0) sums.add(c * kSourcePixels + index[r][q], units);
    });
  }
}

template <class Op>
__device__ __forceinline__ void store_tile(const Op& op, int64_t n, const SourceTile& tile,
                                           const Unit<typename Op::F>& unit, SharedSums& sums) {
  const auto result = op.result[n];
  const int thread = threadIdx.x;
  const int x = tile.left + thread % kSourceWidth, row = thread / kSourceWidth;
  if (x >= result.width) return;
  const int rows = smaller(kSourceHeight, result.height - tile.top);
  for (int c = 0; c < tile.channels; ++c) {
    for (int r = row; r < rows; r += kSourceThreads / kSourceWidth) {
      result.at(tile.top + r, x, tile.first + c) =
          unit.value(sums[c * kSourcePixels + r * kSourceWidth + x - tile.left]);
    }
  }
}

// Collects the cells that read a tile, up to one per thread at a time, and adds them, a warp each.
template <class Op>
__device__ __forceinline__ void sum_tile(const Op& op, const TileRange* reads, int64_t n,
                                         const SourceTile& tile, const Unit<typename Op::F>& unit,
                                         SharedSums& sums) {
  const int thread = threadIdx.x, lane = thread % kWarp;
  const auto image = op.warp.source[n];
  const auto gradient = op.warp.output[n];
  const int all = cells_of(gradient.height, gradient.width), columns = cells_x(gradient.width);
  const unsigned tile_x = tile_of(tile.left, kSourceWidth),
                 tile_y = tile_of(tile.top, kSourceHeight);
  for (int begin = 0; begin < all; begin += kSourceThreads) {
    if (thread == 0) sums.found = 0;
    __syncthreads();
    if (begin + thread < all) {
      const TileRange range = reads[n * all + begin + thread];
      if (tile_x >= range.left && tile_x <= range.right && tile_y >= range.top &&
          tile_y <= range.bottom) {
        sums.cells[atomicAdd(&sums.found, 1)] = static_cast<uint16_t>(thread);
      }
    }
    __syncthreads();
    for (int i = thread / kWarp; i < sums.found; i += kSourceThreads / kWarp) {
      const int cell = begin + sums.cells[i];
      const int x = cell % columns * kCellWidth + lane % kCellWidth;
      const int y = cell / columns * kCellHeight + lane / kCellWidth;
      if (x < gradient.width && y < gradient.height) {
        add_pixel(op, image, gradient, n, y, x, tile, unit, sums);
      }
    }
    __syncthreads();
  }
}

// Blocks of 256 threads per multiprocessor: 4 leave a thread 64 registers, which a perspective
// transform exceeds.
template <class Op>
constexpr int kTileBlocks = Op::kNumbers == 9 ? 3 : 4;

// A block owns a tile of up to 3 channels. Needs 49 KB of dynamic shared memory.
template <class Op>
__global__ void __launch_bounds__(kSourceThreads, kTileBlocks<Op>)
    backward_tiles_kernel(const Op op, const TileRange* reads, int64_t count, int tiles_x,
                          int strips) {
  const int thread = threadIdx.x;
  const int channels = static_cast<int>(op.result.channels);
  SharedSums& sums = *dynamic_shared<SharedSums>();
  for (int64_t n = blockIdx.z; n < count; n += gridDim.z) {
    const auto unit = op.unit(n);
    if (blockIdx.x == 0 && blockIdx.y == 0 && thread < Op::kNumbers) {
      op.sum_strips(n, strips, thread);
    }
    SourceTile tile;
    tile.left = static_cast<int>(blockIdx.x) % tiles_x * kSourceWidth;
    tile.top = static_cast<int>(blockIdx.x) / tiles_x * kSourceHeight;
    for (tile.first = static_cast<int>(blockIdx.y) * kChannelsAtOnce; tile.first < channels;
         tile.first += static_cast<int>(gridDim.y) * kChannelsAtOnce) {
      tile.channels = smaller(channels - tile.first, kChannelsAtOnce);
      sums.clear();
      sum_tile(op, reads, n, tile, unit, sums);
      store_tile(op, n, tile, unit, sums);
      __syncthreads();
    }
  }
}

template <template <class> class Transform>
int run_backward_cuda(const WarpBackwardArguments& a, void* stream) {
  return dispatch_backward<Transform>(a, [&](const auto& op) {
    using Op = std::decay_t<decltype(op)>;
    const int64_t count = a.result.count, channels = a.result.channels;
    const auto images = grid_blocks(count);
    const dim3 strips(static_cast<unsigned>(pieces(a.strips(), kStripsPerBlock)), 1, images);
    const int status = launch(backward_strips_kernel<Op>, strips, dim3(kWarp, kStripsPerBlock), 0,
                              stream, op, a.reads, count, a.strips_x(), a.strips());
    if (status != 0) return status;
    const int tiles_x = pieces(a.result.width, kSourceWidth);
    const int64_t groups = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
    const dim3 tiles(static_cast<unsigned>(tiles_x * pieces(a.result.height, kSourceHeight)),
                     grid_blocks(larger(groups, int64_t{1})), images);
    return launch(backward_tiles_kernel<Op>, tiles, dim3(kSourceThreads), sizeof(SharedSums),
                  stream, op, static_cast<const TileRange*>(a.reads), count, tiles_x, a.strips());
  });
}

}  // namespace orbbec
