// Sums of a channel of an image, or of its gray values, on a CUDA device: a block owns one sum, a
// thread some of its lanes. The CPU adds in the same order.
#include "../../executors/cuda/tiles.h"
#include "reduce.h"

namespace orbbec {
namespace {

constexpr int kThreads = 512;
constexpr int kLanesOfThread = kLanes / kThreads;

// Sums of bytes and of their squares are whole numbers below 2^53: the same in double.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, uint8_t>, int64_t, double>;

// The sums of a thread's lanes: of values, and of squares.
template <class T>
struct ThreadSums {
  SumOf<T> values[kLanesOfThread] = {}, squares[kLanesOfThread] = {};

  // Pixel p of a channel belongs to lane p % kLanes.
  template <bool kIsGray>
  __device__ void add(const LaneSums<T>& op, const Image<const T>& image, int64_t c) {
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    const unsigned width = static_cast<unsigned>(image.width);
    const int down = static_cast<int>(kThreads / width);
    const int right = static_cast<int>(kThreads % width);
    int y = static_cast<int>(threadIdx.x / width), x = static_cast<int>(threadIdx.x % width);
    const auto next = [&] {
      const Lane<T> value = op.template value<kIsGray>(image, y, x, c);
      y += down;
      x += right;
      if (x >= image.width) x -= image.width, ++y;
      return value;
    };
    const int64_t rounds = pixels / kLanes;
    for (int64_t round = 0; round < rounds; ++round) {
      Lane<T> loaded[kLanesOfThread];  // at once, in no branch
#pragma unroll
      for (int i = 0; i < kLanesOfThread; ++i) loaded[i] = next();
#pragma unroll
      for (int i = 0; i < kLanesOfThread; ++i) add_to<kIsGray>(i, loaded[i]);
    }
#pragma unroll
    for (int i = 0; i < kLanesOfThread; ++i) {
      if (rounds * kLanes + i * kThreads + threadIdx.x < pixels) add_to<kIsGray>(i, next());
    }
  }

  template <bool kIsGray>
  __device__ void add_to(int lane, Lane<T> loaded) {
    const SumOf<T> value = static_cast<SumOf<T>>(loaded);
    values[lane] += value;
    if constexpr (kIsGray) return;
    if constexpr (std::is_same_v<SumOf<T>, double> && sizeof(T) < 8) {  // the product is exact
      squares[lane] = fused_multiply_add(value, value, squares[lane]);
    } else {
      squares[lane] += value * value;
    }
  }
};

// A block owns a channel of an image, or its gray; a thread owns 4 lanes. Each pixel is read once,
// coalesced where pixels are. 33 KiB of shared memory, to fold the lanes.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    reduce_kernel(const LaneSums<T> op, double* const sums) {
  __shared__ double lanes[2 * kLanes], groups[2 * kGroups];
  const int summed = op.summand == Summand::kChannels ? 2 : 1;
  const int64_t c = blockIdx.x;
  for (int64_t n = blockIdx.y; n < op.source.count; n += gridDim.y) {
    const Image<const T> image = op.source[n];
    ThreadSums<T> of_thread;
    if (image.width > 0) {
      op.is_gray() ? of_thread.template add<true>(op, image, c)
                   : of_thread.template add<false>(op, image, c);
    }
    for (int i = 0; i < kLanesOfThread; ++i) {
      const int lane = i * kThreads + static_cast<int>(threadIdx.x);
      lanes[lane] = static_cast<double>(of_thread.values[i]);
      lanes[kLanes + lane] = static_cast<double>(of_thread.squares[i]);
    }
    __syncthreads();
    const int kind = threadIdx.x / kGroups;
    if (kind < summed) {
      FoldSums<kLanes, kGroups>{lanes, groups}(kind, static_cast<int>(threadIdx.x % kGroups));
    }
    __syncthreads();
    if (threadIdx.x < summed) {
      FoldSums<kGroups, 1>{groups, sums + n * op.kinds + 2 * c}(threadIdx.x, 0);
    }
    __syncthreads();
  }
}

}  // namespace

int reduce_cuda(const ReduceArguments& a, void* stream) {
  const int64_t channels = a.summand == Summand::kGray ? 1 : a.source.channels;
  return dispatch_functor<LaneSums>(a, [&](const auto& op) {
    using T = typename std::decay_t<decltype(op)>::Value;
    return launch(reduce_kernel<T>,
                  dim3(static_cast<unsigned>(channels), grid_blocks(a.source.count)),
                  dim3(kThreads), 0, stream, op, a.sums);
  });
}

}  // namespace orbbec
