#include "../../executors/pointwise_cuda.h"
#include "tables.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 32;  // per channel: more would mostly contend for its counts
constexpr int kWarps = kThreads / 32;

// A block owns every gridDim.x-th run of 256 pixels of a channel. Each warp has its own histogram
// in shared memory (8 KiB in all), so at most 32 threads contend for a count.
__global__ void __launch_bounds__(kThreads, 1) histogram_kernel(const HistogramArguments a) {
  __shared__ unsigned counts[kWarps][kLevels];
  const int64_t jobs = a.source.count * a.source.channels;
  for (int64_t job = blockIdx.y; job < jobs; job += gridDim.y) {
    for (int w = 0; w < kWarps; ++w) counts[w][threadIdx.x] = 0;
    __syncthreads();
    const Image<const uint8_t> image = a.source[job / a.source.channels];
    const int64_t c = job % a.source.channels;
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; p < pixels;
         p += static_cast<int64_t>(gridDim.x) * kThreads) {
      const uint8_t level =
          image.at(static_cast<int>(p / image.width), static_cast<int>(p % image.width), c);
      atomicAdd(&counts[threadIdx.x / 32][level], 1u);
    }
    __syncthreads();
    unsigned long long sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += counts[w][threadIdx.x];
    if (sum > 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(a.counts) + job * kLevels + threadIdx.x, sum);
    }
    __syncthreads();
  }
}

}  // namespace

int histogram_cuda(const HistogramArguments& a, void* stream) {
  const int64_t jobs = a.source.count * a.source.channels;
  return launch(histogram_kernel,
                dim3(kBlocks, static_cast<unsigned>(jobs < kMaxGridYZ ? jobs : kMaxGridYZ)),
                dim3(kThreads), 0, stream, a);
}

int apply_lut_cuda(const ApplyLut& op, void* stream) { return run_pointwise_cuda(op, stream); }

int make_luts_cuda(const MakeLut& op, int64_t count, void* stream) {
  return for_each_item_cuda(op, count, op.channels, stream);
}

}  // namespace orbbec
