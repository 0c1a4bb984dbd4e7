#include "../executors/executor_cuda.h"
#include "noise.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1024;  // per image: the kernel strides

// A thread owns four neighbors of a row of a channel, and every (gridDim.x * blockDim.x)-th such
// group of an image. Groups are numbered channel by channel, or, for interleaved channels, across
// all channels, so that the stores of a warp are contiguous. No shared memory.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    gaussian_noise_kernel(const GaussianNoise<T> op, bool planes) {
  const int64_t channels = op.output.channels;
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    const Image<T> to = op.output[n];
    const int64_t groups = (int64_t{to.width} + 3) / 4;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
         i < groups * to.height * channels; i += static_cast<int64_t>(gridDim.x) * kThreads) {
      const int64_t c = planes ? i / (groups * to.height) : i % channels;
      const int64_t at = planes ? i % (groups * to.height) : i / channels;
      const int first = static_cast<int>(at % groups * 4);
      op.columns(n, c, static_cast<int>(at / groups), first,
                 to.width - first < 4 ? to.width : first + 4);
    }
  }
}

}  // namespace

int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream) {
  return dispatch_gaussian_noise(arguments, [&](const auto& op) {
    const auto& output = op.output;
    const int64_t items = (int64_t{output.width} + 3) / 4 * output.height * output.channels;
    const int64_t blocks =
        output.layout != nullptr ? kMaxBlocks / 8 : (items + kThreads - 1) / kThreads;
    const dim3 grid(static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks),
                    static_cast<unsigned>(output.count < kMaxGridYZ ? output.count : kMaxGridYZ));
    return launch(gaussian_noise_kernel<std::decay_t<decltype(*op.output[0].data)>>, grid,
                  dim3(kThreads), 0, stream, op, output.stride_x == 1);
  });
}

}  // namespace orbbec
