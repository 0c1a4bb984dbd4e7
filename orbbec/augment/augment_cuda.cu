#include "../core/executor_cuda.h"
#include "augment.h"

namespace orbbec {

namespace {

// Writes the channels of a pixel as the output has them.
template <class Op>
struct AugmentPixel {
  Op op;

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    float values[kMaxFills];
    op.output(n, y, x, values);
    with_output_type(op.arguments.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
      const AnyImages& o = op.arguments.warp.output;
      const Image<Out> target{static_cast<Out*>(o.data) + n * o.stride_n,
                              o.height,
                              o.width,
                              o.stride_y,
                              o.stride_x,
                              o.stride_c};
#pragma unroll
      for (int c = 0; c < kMaxFills; ++c) {
        if (c < op.channels()) target.at(y, x, c) = store<Out>(values[c]);
      }
    });
  }
};

// A block adds the gray of its share of an image: a thread its pixels, a warp its threads.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, 1) gray_kernel(const Op op) {
  const AnyImages& output = op.arguments.warp.output;
  for (int64_t n = blockIdx.z; n < output.count; n += gridDim.z) {
    const Program program = op.program(n);
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

}  // namespace

int augment_cuda(const AugmentArguments& arguments, void* stream) {
  return dispatch_augment(arguments, [&](const auto& op) {
    using Op = std::decay_t<decltype(op)>;
    const AnyImages& output = arguments.warp.output;
    if (arguments.gray_sums != nullptr) {
      const int status = launch(gray_kernel<Op>, tile_grid(1, output.height, output.count),
                                dim3(kTileWidth, kTileHeight), 0, stream, op);
      if (status != 0) return status;
    }
    return for_each_pixel_cuda(AugmentPixel<Op>{op}, output, stream);
  });
}

}  // namespace orbbec
