// Tiles of the planes of a batch on a CUDA device, of one size or variable-size. Included by the
// .cu files and the *_cuda.h of this folder.
#pragma once

#include "../executors/cuda/tiles.h"
#include "tiling.h"

namespace orbbec {

constexpr int kTileThreads = 128;  // few: each prepares the tile for itself

struct Tile {
  int64_t n, channel;
  int planes;                    // from `channel` on
  int top, left, height, width;  // the last ones of an image are smaller
};

// One block per tile of each plane. For variable-size images, whose sizes the host does not know,
// one block per tile of a plane of mean size; the rest is reached by striding.
inline dim3 tile_blocks(const AnyImages& images, const Tiling& tiling) {
  const int64_t planes = (images.channels / tiling.group + tiling.planes - 1) / tiling.planes;
  const int width = images.width * tiling.group;
  const int64_t all = images.count * planes > 0 ? images.count * planes : 1;
  const int64_t tiles =
      images.layout == nullptr
          ? int64_t{tiles_of(width, tiling.width)} * tiles_of(images.height, tiling.height)
          : images.numel / all / (tiling.width * tiling.height) + 1;
  constexpr int64_t kMaxGridX = 2147483647;
  return dim3(static_cast<unsigned>(tiles < kMaxGridX ? tiles : kMaxGridX), grid_blocks(planes),
              grid_blocks(images.count));
}

// The planes of a tile whose rows are aligned alike: as many as leave enough blocks.
inline int planes_of_tile(const AnyImages& source, const Tiling& tiling) {
  if (tiling.group > 1 || source.layout != nullptr || source.stride_c % 16 != 0) return 1;
  const dim3 blocks = tile_blocks(source, tiling);
  const int64_t spare = int64_t{blocks.x} * blocks.y * blocks.z / (4 * kEnoughBlocks);
  return static_cast<int>(larger(smaller(spare, source.channels), int64_t{1}));
}

// Calls body(tile) for the tiles of this block; all threads of the block call it.
template <class T, class Body>
__device__ void for_each_tile(const Images<T>& images, const Tiling& tiling, const Body& body) {
  for (int64_t n = blockIdx.z; n < images.count; n += gridDim.z) {
    const Image<T> image = images[n];
    const int width = image.width * tiling.group;
    const unsigned horizontal = tiles_of(width, tiling.width);
    const unsigned tiles = horizontal * tiles_of(image.height, tiling.height);
    const int64_t channels = int64_t{tiling.group} * tiling.planes;
    for (int64_t channel = blockIdx.y * channels; channel < images.channels;
         channel += gridDim.y * channels) {
      const int planes = smaller(static_cast<int>(images.channels - channel), tiling.planes);
      for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const unsigned row = tile / horizontal;
        const int top = static_cast<int>(row) * tiling.height;
        const int left = static_cast<int>(tile - row * horizontal) * tiling.width;
        body(Tile{.n = n,
                  .channel = channel,
                  .planes = planes,
                  .top = top,
                  .left = left,
                  .height = at_most(image.height - top, tiling.height),
                  .width = at_most(width - left, tiling.width)});
      }
    }
  }
}

// 2^16 / n, rounded up. (i * of[n]) >> 16 is i / n for any number i of a thread, at a sixth of the
// instructions.
struct Inverses {
  unsigned of[kTileThreads + 1];

  constexpr Inverses() : of{} {
    static_assert(kTileThreads * kTileThreads < 1 << 16);
    for (unsigned n = 1; n <= kTileThreads; ++n) of[n] = (1u << 16) / n + 1;
  }
};
static __constant__ constexpr Inverses kInverses;

// store(y, x, column(y)), where column = load(x), for the positions of a rectangle, spread over the
// threads of the block: as many rows at once as they reach, and kLoads loads in flight per thread.
// No load is in a branch: beyond the last row, it is read again.
template <int kLoads, class Load, class Store>
__device__ void copy_rows(int height, int width, const Load& load, const Store& store) {
  if (width <= 0) return;
  const unsigned together = width < kTileThreads ? width : kTileThreads;
  const unsigned inverse = kInverses.of[together];
  const int at_once = static_cast<int>(kTileThreads * inverse >> 16);
  const int row = static_cast<int>(threadIdx.x * inverse >> 16);
  if (row >= at_once) return;
  for (int x = static_cast<int>(threadIdx.x - row * together); x < width; x += kTileThreads) {
    const auto column = load(x);
    for (int y = row; y < height; y += at_once * kLoads) {
      decltype(column(0)) values[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) values[i] = column(at_most(y + i * at_once, height - 1));
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (y + i * at_once < height) store(y + i * at_once, x, values[i]);
      }
    }
  }
}

// The value at an offset of a row and one of a column, or 0 outside: where one is -1. Not in a
// branch.
template <class T>
__device__ T value_or_zero(const T* data, int64_t row, int64_t column) {
  const bool is_outside = (row | column) < 0;
  const T value = data[is_outside ? 0 : row + column];
  return is_outside ? T{} : value;
}

// offsets[i] is the offset of row `first` + i of a plane, or -1 outside a constant border.
template <class T>
__device__ void find_rows(const Plane<T>& plane, int first, int count, Border border,
                          int64_t* offsets) {
  for (int i = threadIdx.x; i < count; i += kTileThreads) {
    const int row = index_or_outside(first + i, plane.height, border);
    offsets[i] = row < 0 ? -1 : row * plane.stride_y;
  }
}

// The same for the values of a row from `first` on.
template <class T>
__device__ int64_t find_value(const Plane<T>& plane, int value, Border border) {
  const int group = plane.group;
  const int pixel = value >= 0 ? value / group : -1 - (-1 - value) / group;
  const int column = index_or_outside(pixel, plane.width, border);
  return column < 0 ? -1 : (int64_t{column} * group + (value - pixel * group)) * plane.stride_v;
}

// op(n, y, x, channel): a thread owns 8 pixels of a tile. No shared memory.
template <class Op>
__global__ void __launch_bounds__(kTileThreads, 1)
    every_pixel_kernel(const Op op, const Tiling tiling) {
  for_each_tile(op.source, tiling, [&](const Tile& tile) {
    for (int y = threadIdx.x / kWarp; y < tile.height; y += kTileThreads / kWarp) {
      for (int x = threadIdx.x % kWarp; x < tile.width; x += kWarp) {
        op(tile.n, tile.top + y, tile.left + x, tile.channel);
      }
    }
  });
}

template <class Op>
int every_pixel_cuda(const Op& op, void* stream) {
  constexpr Tiling kPixels{.group = 1, .width = 64, .height = 32};
  return launch(every_pixel_kernel<Op>, tile_blocks(op.source, kPixels), dim3(kTileThreads), 0,
                stream, op, kPixels);
}

}  // namespace orbbec
