// Philox draws on a CUDA device: a thread owns two groups of four neighbors, a block 512
// consecutive groups. No shared memory.
#include "../../executors/cuda/tiles.h"
#include "philox.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kDraws = 2;  // per thread: they share the round keys
constexpr int64_t kMaxBlocks = int64_t{1} << 30;

template <class Op>
__global__ void __launch_bounds__(kThreads, 1) philox_noise_kernel(const Op op, int64_t draws) {
  for (int64_t n = blockIdx.y; n < op.a.count; n += gridDim.y) {
    for (int64_t first = int64_t{blockIdx.x} * (kThreads * kDraws) + threadIdx.x; first < draws;
         first += int64_t{gridDim.x} * (kThreads * kDraws)) {
      if (op.has_whole_groups()) {
#pragma unroll
        for (int k = 0; k < kDraws; ++k) {
          const int64_t draw = first + k * kThreads;
          if (draw < draws) op.whole_group(n, draw);
        }
        continue;
      }
      ORBBEC_ROLLED
      for (int k = 0; k < kDraws; ++k) {
        const int64_t draw = first + k * kThreads;
        if (draw < draws) op(n, draw);
      }
    }
  }
}

}  // namespace

int philox_noise_cuda(const PhiloxNoiseArguments& arguments, void* stream) {
  return dispatch_philox_noise(arguments, [&](const auto& op) {
    const int64_t draws = op.groups() * arguments.rows;
    const int64_t blocks = (draws + kThreads * kDraws - 1) / (kThreads * kDraws);
    const dim3 grid(static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks),
                    grid_blocks(arguments.count));
    return launch(philox_noise_kernel<std::decay_t<decltype(op)>>, grid, dim3(kThreads), 0, stream,
                  op, draws);
  });
}

}  // namespace orbbec
