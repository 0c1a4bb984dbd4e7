// Runs a functor over the pixels of a batch on a CUDA device. Included by *_cuda.cu; sees CUDA,
// never torch.
#pragma once

#include "../../core/image.h"
#include "launch.h"

namespace orbbec {

constexpr int kTileWidth = 32, kTileHeight = 8;  // a warp owns 32 neighboring pixels of a row
// A few for each multiprocessor of the largest GPUs. With fewer, smaller blocks of work are better.
constexpr int64_t kEnoughBlocks = 512;

// Blocks for `columns` x `rows` x `count` threads; beyond the limits of the grid, kernels stride.
inline dim3 tile_grid(int64_t columns, int64_t rows, int64_t count) {
  const int64_t tiles_y = (rows + kTileHeight - 1) / kTileHeight;
  return dim3(static_cast<unsigned>((columns + kTileWidth - 1) / kTileWidth), grid_blocks(tiles_y),
              grid_blocks(count));
}

struct Position {
  int y, x;
};

// Where the index-th of the items in rows of `width` is. A division of 64 bits takes four times as
// long as one of 32.
__device__ __forceinline__ Position position_of(int64_t index, int width) {
  const auto across = static_cast<unsigned>(width);
  const unsigned y = index >> 32 == 0 ? static_cast<unsigned>(index) / across
                                      : static_cast<unsigned>(index / width);
  return {static_cast<int>(y), static_cast<int>(index - int64_t{y} * width)};
}

// A thread owns one pixel: column x of every gridDim.y-th tile row of every gridDim.z-th image. No
// shared memory.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, 1)
    for_each_pixel_kernel(const Op op, int64_t count, int height, int width) {
  const int64_t x = static_cast<int64_t>(blockIdx.x) * kTileWidth + threadIdx.x;
  if (x >= width) return;
  for (int64_t n = blockIdx.z; n < count; n += gridDim.z) {
    for (int64_t y = static_cast<int64_t>(blockIdx.y) * kTileHeight + threadIdx.y; y < height;
         y += static_cast<int64_t>(gridDim.y) * kTileHeight) {
      op(n, static_cast<int>(y), static_cast<int>(x));
    }
  }
}

// op(n, y, x) for every pixel of `shape`, on `stream`. Returns a cudaError_t.
template <class Op>
int for_each_pixel_cuda(const Op& op, const AnyImages& shape, void* stream) {
  return launch(for_each_pixel_kernel<Op>, tile_grid(shape.width, shape.height, shape.count),
                dim3(kTileWidth, kTileHeight), 0, stream, op, shape.count, shape.height,
                shape.width);
}

// Adapts an item functor to pixels: an image is one row of items.
template <class Op>
struct ItemsAsPixels {
  Op op;
  __device__ __forceinline__ void operator()(int64_t n, int, int i) const { op(n, i); }
};

// op(n, i) for every i below `items` of each of `count` images, on `stream`. Returns a cudaError_t.
template <class Op>
int for_each_item_cuda(const Op& op, int64_t count, int items, void* stream) {
  return launch(for_each_pixel_kernel<ItemsAsPixels<Op>>, tile_grid(items, 1, count),
                dim3(kTileWidth, 1), 0, stream, ItemsAsPixels<Op>{op}, count, 1, items);
}

}  // namespace orbbec
