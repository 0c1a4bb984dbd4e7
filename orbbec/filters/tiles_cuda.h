// Tiles of the planes of a batch on a CUDA device, of one size or variable-size. Included by the
// .cu files of this folder.
#pragma once

#include "../executors/executor_cuda.h"

namespace orbbec {

constexpr int kBlockTileWidth = 64, kBlockTileHeight = 32;  // pixels of one channel
constexpr int kBlockWidth = 32, kBlockHeight = 8;           // threads

ORBBEC_HD int64_t tiles_of(int size, int tile) { return size / tile + (size % tile != 0 ? 1 : 0); }

// One block per tile of each plane. For variable-size images, whose sizes the host does not know,
// one block per tile of a plane of mean size; the rest is reached by striding.
inline dim3 tile_blocks(const AnyImages& images) {
  const int64_t planes = images.count * images.channels;
  const int64_t tiles =
      images.layout == nullptr
          ? tiles_of(images.width, kBlockTileWidth) * tiles_of(images.height, kBlockTileHeight)
          : images.numel / (planes > 0 ? planes : 1) / (kBlockTileWidth * kBlockTileHeight) + 1;
  constexpr int64_t kMaxGridX = 2147483647;
  return dim3(static_cast<unsigned>(tiles < kMaxGridX ? tiles : kMaxGridX),
              static_cast<unsigned>(planes < kMaxGridYZ ? planes : kMaxGridYZ));
}

// Calls body(n, channel, y, x) with the first pixel of each tile; all threads of the block call it.
template <class T, class Body>
__device__ void for_each_tile(const Images<T>& images, const Body& body) {
  for (int64_t plane = blockIdx.y; plane < images.count * images.channels; plane += gridDim.y) {
    const int64_t n = plane / images.channels;
    const Image<T> image = images[n];
    const int64_t horizontal = tiles_of(image.width, kBlockTileWidth);
    const int64_t tiles = horizontal * tiles_of(image.height, kBlockTileHeight);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      body(n, plane % images.channels, static_cast<int>(tile / horizontal) * kBlockTileHeight,
           static_cast<int>(tile % horizontal) * kBlockTileWidth);
    }
  }
}

// body(y, x) for the positions of a rectangle, spread over the threads of the block.
template <class Body>
__device__ void for_each_position(int height, int width, const Body& body) {
  for (int y = threadIdx.y; y < height; y += kBlockHeight) {
    for (int x = threadIdx.x; x < width; x += kBlockWidth) body(y, x);
  }
}

ORBBEC_HD int at_most(int value, int limit) { return value < limit ? value : limit; }

// op(n, y, x, channel): a thread owns 8 pixels of a tile. No shared memory.
template <class Op>
__global__ void __launch_bounds__(kBlockWidth* kBlockHeight, 1) every_pixel_kernel(const Op op) {
  using T = typename Op::Value;
  for_each_tile(op.source, [&](int64_t n, int64_t channel, int top, int left) {
    const Image<const T> image = op.source[n];
    for_each_position(at_most(kBlockTileHeight, image.height - top),
                      at_most(kBlockTileWidth, image.width - left),
                      [&](int y, int x) { op(n, top + y, left + x, channel); });
  });
}

template <class Op>
int every_pixel_cuda(const Op& op, void* stream) {
  return launch(every_pixel_kernel<Op>, tile_blocks(op.source), dim3(kBlockWidth, kBlockHeight), 0,
                stream, op);
}

}  // namespace orbbec
