// Runs augment on a CUDA device. Included by augment_cuda.cu and planes_cuda.cu.
#pragma once

#include "tile_cuda.h"

namespace orbbec {

// The gray sums of the warps of a block.
struct GraySums {
  int64_t sums[kTileHeight];

  __device__ void clear() {
    if (threadIdx.x == 0) sums[threadIdx.y] = 0;
  }
  // Adds those of the threads of a warp.
  __device__ void add(unsigned units) {
    units = warp_sum(units);
    if (threadIdx.x == 0) sums[threadIdx.y] += units;
  }
  // Stores that of the block as the sum of a tile.
  __device__ void store(int64_t* to) const {
    __syncthreads();
    if (threadIdx.x != 0 || threadIdx.y != 0) return;
    int64_t sum = 0;
    for (const int64_t units : sums) sum += units;
    *to = sum;
  }
};

// A block owns 32 columns of `rows` rows of an image, a warp an eighth of the rows, a thread its
// column of them. SharedImages is filled once per block; source pixels are read once per tap.
// `adds_gray`: only adds the gray values before contrast. Shared memory: 14 KB, 26 KB with four
// pixels per thread, and 10 KB where pixels are only read and normalized.
template <bool kOnlyNormalizes, class Op>
__device__ void augment_tiles(const Op& op, const Quotients& quotients, int rows, bool adds_gray) {
  constexpr int kRows = kOnlyNormalizes ? kNormalizedPixels<Op> : kPixels<Op>;
  __shared__ SharedBytes<SharedImages<Op>> memory;
  SharedImages<Op>& shared = memory.as_object();
  __shared__ StagedRows staged;
  [[maybe_unused]] __shared__ GraySums gray;
  [[maybe_unused]] __shared__ MixedPixels<kRows> mixed;  // no memory where nothing mixes
  const AnyImages& output = op.arguments.warp.output;
  const int left = static_cast<int>(blockIdx.x) * kTileWidth;
  for (int64_t n = blockIdx.z; n < output.count; n += gridDim.z) {
    if (adds_gray && op.program_without_mean(n).contrast_step() < 0) continue;
    for (unsigned top = blockIdx.y * rows; top < static_cast<unsigned>(output.height);
         top += gridDim.y * rows) {
      const Image<uint8_t> shape = op.shapes[opaque(n)];
      if (left >= shape.width || top >= static_cast<unsigned>(shape.height)) break;
      const Tile tile = tile_at(shape, left, top, rows);
      bool mixes = false;
      int64_t pair_index = kNoImage;
      if constexpr (!kOnlyNormalizes) {
        const Mix mix(op.arguments, n);
        mixes = !adds_gray && tile.meets(mix);
        if (mixes) pair_index = mix.pair_index;
      }
      load_images(op, tile, n, pair_index, adds_gray, shared);
      AugmentThread<Op> thread(op, shared, tile, quotients, adds_gray);
      OutputRow to(op.arguments, shape, tile.first_row(), tile.left, static_cast<int>(threadIdx.x));
      const int end = tile.end_row();
      if (adds_gray) gray.clear();
      for (int row = tile.first_row(); row < end; row += kRows) {
        float values[kRows][kMaxFills];
        if constexpr (kOnlyNormalizes) {
          thread.normalized(row, values);
        } else {
          thread.mixed(row, mixes, mixed, values);
          if (adds_gray) {
            gray.add(thread.gray_units(row, values));
            continue;
          }
        }
        to.store(op.arguments, end - row, values, staged.words[threadIdx.y]);
      }
      if (adds_gray) {
        const int tile_index = static_cast<int>(top) / rows * tiles_across(shape);
        gray.store(gray_sums_of(op, n) + tile_index + blockIdx.x);
      }
      __syncthreads();  // before `shared` is of another tile
    }
  }
}

template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kColorBlocks<Op>)
    augment_kernel(const Op op, const Quotients quotients, int rows, bool adds_gray) {
  augment_tiles<false>(op, quotients, rows, adds_gray);
}

// A thread has two pixels at a time.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kBlocks<Op>)
    normalizing_augment_kernel(const Op op, const Quotients quotients, int rows) {
  augment_tiles<true>(op, quotients, rows, false);
}

// Whether pixels are only read and normalized.
inline bool only_normalizes(const AugmentArguments& a) {
  return a.program.rows == nullptr && a.boxes_per_image == 0 && a.mix == nullptr;
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
  const Quotients quotients = quotients_of(op.arguments);
  if constexpr (kNormalizedPixels<Op> > 0) {
    if (only_normalizes(op.arguments))
      return launch(normalizing_augment_kernel<Op>, grid, block, 0, stream, op, quotients, rows);
  }
  const auto run = [&](bool adds_gray) {
    return launch(augment_kernel<Op>, grid, block, 0, stream, op, quotients, rows, adds_gray);
  };
  const bool adds_gray = op.arguments.gray_sums != nullptr && summed == 0;
  const int status = adds_gray ? run(true) : 0;
  return status != 0 ? status : run(false);
}

}  // namespace orbbec
