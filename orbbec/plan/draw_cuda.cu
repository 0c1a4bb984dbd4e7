#include "../executors/cuda/launch.h"
#include "draw_batch.h"

namespace orbbec {
namespace {

constexpr int kDrawThreads = 128;

// Clears the blocks of the first rules. Returns the index of the rule that follows.
__device__ int64_t clear_first_blocks(const DrawArguments& a, const double* rows, int64_t n) {
  int64_t k = a.begin;
  for (; k < a.end; ++k) {
    const double* const row = rows + k * kRuleNumbers;
    if (row[0] != static_cast<double>(Rule::kClear)) break;
    clear(row + kFirstOperand, {a.words, a.count, n}, threadIdx.x, kDrawThreads);
  }
  return k;
}

// A block owns an image: its threads copy the program to shared memory, where the registers follow
// it, and the first thread runs the rules. Its time is that of fetching the code: rules call what
// they share.
__global__ void __launch_bounds__(kDrawThreads, 1) draw_kernel(const DrawArguments a) {
  const int64_t n = blockIdx.x;
  double* const rows = dynamic_shared<double>();
  const int numbers = static_cast<int>(a.row_count * kRuleNumbers);
  for (int i = threadIdx.x; i < numbers; i += kDrawThreads) rows[i] = a.rows[i];
  __syncthreads();
  const int64_t first = clear_first_blocks(a, rows, n);
  __syncthreads();
  if (threadIdx.x == 0) draw_image(a, n, {rows, rows + numbers, first});
}

}  // namespace

int draw_cuda(const DrawArguments& arguments, void* stream) {
  return launch(draw_kernel, dim3(static_cast<unsigned>(arguments.count)), dim3(kDrawThreads),
                static_cast<size_t>(shared_bytes(arguments)), stream, arguments);
}

}  // namespace orbbec
