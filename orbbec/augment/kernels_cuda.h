// Runs augment on a CUDA device. Included by augment_cuda.cu and planes_cuda.cu.
#pragma once

#include "tile_cuda.h"

namespace orbbec {

// A block owns 32 columns of `rows` rows of an image, a warp an eighth of the rows, a thread its
// column of them. SharedImages is filled once per block; source pixels are read once per tap.
// Shared memory: 15 KB, and 10 KB where pixels are only read and normalized.
template <bool kOnlyNormalizes, class Op>
__device__ void augment_tiles(const Op& op, const Quotients& quotients, int rows) {
  constexpr int kRows = kOnlyNormalizes ? kNormalizedPixels<Op> : kPixels<Op>;
  __shared__ SharedBytes<SharedImages<Op>> memory;
  SharedImages<Op>& shared = memory.as_object();
  __shared__ StagedRows staged;
  [[maybe_unused]] __shared__ MixedPixels<kRows> mixed;  // no memory where nothing mixes
  const AnyImages& output = op.arguments.warp.output;
  const int left = static_cast<int>(blockIdx.x) * kTileWidth;
  for (int64_t n = blockIdx.z; n < output.count; n += gridDim.z) {
    for (unsigned top = blockIdx.y * rows; top < static_cast<unsigned>(output.height);
         top += gridDim.y * rows) {
      const Image<uint8_t> shape = op.shapes[opaque(n)];
      if (left >= shape.width || top >= static_cast<unsigned>(shape.height)) break;
      const Tile tile = tile_at(shape, left, top, rows);
      bool mixes = false;
      int64_t pair_index = kNoImage;
      if constexpr (!kOnlyNormalizes) {
        const Mix mix(op.arguments, n);
        mixes = tile.meets(mix);
        if (mixes) pair_index = mix.pair_index;
      }
      load_images(op, tile, n, pair_index, true, shared);
      AugmentThread<Op> thread(op, shared, tile, quotients);
      OutputRow to(op.arguments, shape, tile.first_row(), tile.left, static_cast<int>(threadIdx.x));
      const int end = tile.end_row();
      for (int row = tile.first_row(); row < end; row += kRows) {
        float values[kRows][kMaxFills];
        if constexpr (kOnlyNormalizes) {
          thread.normalized(row, values);
        } else {
          thread.mixed(row, mixes, mixed, values);
        }
        to.store(op.arguments, end - row, values, staged.words[threadIdx.y]);
      }
      __syncthreads();  // before `shared` is of another tile
    }
  }
}

template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kColorBlocks<Op>)
    augment_kernel(const Op op, const Quotients quotients, int rows) {
  augment_tiles<false>(op, quotients, rows);
}

// A thread has two pixels at a time.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kBlocks<Op>)
    normalizing_augment_kernel(const Op op, const Quotients quotients, int rows) {
  augment_tiles<true>(op, quotients, rows);
}

// Whether pixels are only read and normalized.
inline bool only_normalizes(const AugmentArguments& a) {
  return a.program.rows == nullptr && a.boxes_per_image == 0 && a.mix == nullptr;
}

// A block adds the gray values of a tile: each thread its pixels, each warp its threads, the block
// its warps.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kColorBlocks<Op>)
    gray_kernel(const Op op, int rows) {
  __shared__ SharedBytes<SharedImages<Op>> memory;
  SharedImages<Op>& shared = memory.as_object();
  __shared__ int64_t sums[kTileHeight];
  const AnyImages& output = op.arguments.warp.output;
  const int left = static_cast<int>(blockIdx.x) * kTileWidth;
  for (int64_t n = blockIdx.z; n < output.count; n += gridDim.z) {
    const int end = op.program_without_mean(n).contrast_step();
    if (end < 0) continue;
    for (unsigned top = blockIdx.y * rows; top < static_cast<unsigned>(output.height);
         top += gridDim.y * rows) {
      const Image<uint8_t> shape = op.shapes[opaque(n)];
      if (left >= shape.width || top >= static_cast<unsigned>(shape.height)) break;
      const Tile tile = tile_at(shape, left, top, rows);
      load_images(op, tile, n, kNoImage, false, shared);
      AugmentThread<Op> thread(op, shared, tile, Quotients{});
      const float units_of_1 = op.program_without_mean(n).units_of_1();
      int64_t sum = 0;
      for (int row = tile.first_row(); row < tile.end_row(); row += kPixels<Op>)
        sum += thread.gray_units(row, end, units_of_1);
      sum = warp_sum(sum);
      if (threadIdx.x == 0) sums[threadIdx.y] = sum;
      __syncthreads();
      if (threadIdx.x == 0 && threadIdx.y == 0) {
        for (int w = 1; w < kTileHeight; ++w) sum += sums[w];
        const int tile_index = static_cast<int>(top) / rows * tiles_across(shape);
        gray_sums_of(op, n)[tile_index + static_cast<int>(blockIdx.x)] = sum;
      }
      __syncthreads();
    }
  }
}

// Rows of a tile: many, because the parameters of its images are loaded once; fewer where there
// would be too few blocks to fill a device. If possible, threads have whole groups of `pixels`
// rows.
inline int rows_of_tile(const AnyImages& output, int pixels) {
  int rows = kMaxRows;
  for (; rows > kTileHeight; rows /= 2) {
    const int64_t bands = (output.height + int64_t{rows} - 1) / rows;
    if (bands * ((output.width - 1) / kTileWidth + 1) * output.count >= kEnoughBlocks) break;
  }
  const int bands = (output.height - 1) / rows + 1;  // of similar heights
  const int group = kTileHeight * (rows < kTileHeight * pixels ? 1 : pixels);
  return ((output.height - 1) / bands / group + 1) * group;
}

template <class Op>
int run_augment_cuda(const Op& op, void* stream) {
  const AnyImages& output = op.arguments.warp.output;
  const int summed = op.arguments.gray_rows;
  const int rows = summed > 0 ? summed : rows_of_tile(output, kPixels<Op>);
  const dim3 block(kTileWidth, kTileHeight);
  const int64_t bands = (output.height - 1) / rows + 1;
  const dim3 grid = tile_grid(output.width, bands * kTileHeight, output.count);
  if (op.arguments.gray_sums != nullptr && summed == 0) {
    const int status = launch(gray_kernel<Op>, grid, block, 0, stream, op, rows);
    if (status != 0) return status;
  }
  if constexpr (kNormalizedPixels<Op> > 0) {
    if (only_normalizes(op.arguments)) {
      return launch(normalizing_augment_kernel<Op>, grid, block, 0, stream, op,
                    quotients_of(op.arguments), rows);
    }
  }
  return launch(augment_kernel<Op>, grid, block, 0, stream, op, quotients_of(op.arguments), rows);
}

}  // namespace orbbec
