// Launches a warp on a CUDA device with 32-bit stores. Included by *_cuda.cu of the operators that
// resample.
#pragma once

#include "../core/warp.h"
#include "../executors/executor_cuda.h"

namespace orbbec {

// Pixels per thread: as many as a 32-bit store holds, or one where a pixel has many taps.
template <class Op>
constexpr int kRun =
    Op::kIsLight && sizeof(typename Op::Value) < 4 ? 4 / sizeof(typename Op::Value) : 1;

// Writes `run` pixels of one row and channel; as one word if they are contiguous, complete and
// aligned.
template <class T, int kCount>
__device__ __forceinline__ void store_run(T* first, int64_t stride_x, const T (&values)[kCount],
                                          int run) {
  if constexpr (kCount > 1) {
    if (stride_x == 1 && run == kCount && reinterpret_cast<uintptr_t>(first) % 4 == 0) {
      uint32_t word;
      memcpy(&word, values, sizeof(word));
      *reinterpret_cast<uint32_t*>(first) = word;
      return;
    }
  }
  for (int i = 0; i < run; ++i) first[i * stride_x] = values[i];
}

// Blocks per multiprocessor: 3 leave a thread 80 registers. For compute capability 12.0 nvcc needs
// a few more where a run has two pixels.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
template <class Op>
constexpr int kBlocks = !Op::kIsLight   ? 1
                        : kRun<Op> == 2 ? 2
                                        : 3;
#else
template <class Op>
constexpr int kBlocks = Op::kIsLight ? 3 : 1;
#endif

// A thread owns a run of neighboring pixels of a row in all channels: positions are computed once,
// then every channel is read and written. Each output byte is written once; source bytes are
// ordinary loads, cached in L1 and L2.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight, kBlocks<Op>) warp_kernel(const Op op) {
  using T = typename Op::Value;
  const int64_t x0 = (static_cast<int64_t>(blockIdx.x) * kTileWidth + threadIdx.x) * kRun<Op>;
  const int width = op.output.width, height = op.output.height;
  if (x0 >= width) return;
  const int x = static_cast<int>(x0);
  const int run = width - x < kRun<Op> ? width - x : kRun<Op>;
  for (int64_t n = blockIdx.z; n < op.output.count; n += gridDim.z) {
    const Image<const T> image = op.source[n];
    const Image<T> target = op.output[n];
    for (int64_t row = static_cast<int64_t>(blockIdx.y) * kTileHeight + threadIdx.y; row < height;
         row += static_cast<int64_t>(gridDim.y) * kTileHeight) {
      const int y = static_cast<int>(row);
      typename Op::Tap taps[kRun<Op>];
#pragma unroll
      for (int i = 0; i < kRun<Op>; ++i) {
        if (i < run) taps[i] = op.locate(image, n, y, x + i);
      }
      for (int64_t c = 0; c < op.output.channels; ++c) {
        T values[kRun<Op>];
#pragma unroll
        for (int i = 0; i < kRun<Op>; ++i) {
          if (i < run) values[i] = op.read(image, taps[i], c, op.outside(target, y, x + i, c));
        }
        store_run(&target.at(y, x, c), target.stride_x, values, run);
      }
    }
  }
}

// Runs `op` on `stream`. Returns a cudaError_t.
template <class Op>
int launch_warp_cuda(const Op& op, void* stream) {
  constexpr int run = kRun<Op>;
  const int64_t columns = (static_cast<int64_t>(op.output.width) + run - 1) / run;
  return launch(warp_kernel<Op>, tile_grid(columns, op.output.height, op.output.count),
                dim3(kTileWidth, kTileHeight), 0, stream, op);
}

}  // namespace orbbec
