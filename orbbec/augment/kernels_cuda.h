// Runs augment on a CUDA device. Included by augment_cuda.cu and planes_cuda.cu.
#pragma once

#include "../executors/executor_cuda.h"
#include "augment.h"

namespace orbbec {

// A block adds the gray values of a slice of an image: each thread its pixels, each warp its
// threads.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, 1) gray_kernel(const Op op) {
  const AnyImages& output = op.arguments.warp.output;
  for (int64_t n = blockIdx.z; n < output.count; n += gridDim.z) {
    const Program program = op.program_without_mean(n);
    const int end = program.contrast_step();
    if (end < 0) continue;
    int64_t sum = 0;
    for (int64_t y = static_cast<int64_t>(blockIdx.y) * kTileHeight + threadIdx.y;
         y < output.height; y += static_cast<int64_t>(gridDim.y) * kTileHeight) {
      for (int64_t x = threadIdx.x; x < output.width; x += kTileWidth)
        sum += op.gray_units(program, end, n, static_cast<int>(y), static_cast<int>(x));
    }
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, distance);
    if (threadIdx.x == 0) atomic_add(op.arguments.gray_sums + n, sum);
  }
}

template <class Op>
int run_augment_cuda(const Op& op, void* stream) {
  const AnyImages& output = op.arguments.warp.output;
  if (op.arguments.gray_sums != nullptr) {
    const int status = launch(gray_kernel<Op>, tile_grid(1, output.height, output.count),
                              dim3(kTileWidth, kTileHeight), 0, stream, op);
    if (status != 0) return status;
  }
  return for_each_pixel_cuda(AugmentPixel<Op>{op}, output, stream);
}

}  // namespace orbbec
