#include <type_traits>

#include "../executors/cuda/launch.h"
#include "draw_batch.h"

namespace orbbec {
namespace {

constexpr int kDrawThreads = 128;
static_assert(std::has_unique_object_representations_v<RuleHead>);  // which shared memory holds

// Clears the blocks of the first rules. Returns the index of the rule that follows.
__device__ __forceinline__ int64_t clear_first_blocks(const DrawArguments& a, const double* rows) {
  int64_t k = 0;
  for (; k < a.end; ++k) {
    const double* const row = rows + k * kRuleNumbers;
    if (row[0] != static_cast<double>(Rule::kClear)) break;
    clear(row + kFirstOperand, {a.words, a.count, blockIdx.x}, threadIdx.x, kDrawThreads);
  }
  return k;
}

// A block owns an image. Its threads copy the program to shared memory and compute the heads of the
// rules, one each; then the first thread runs the rules. Its time is the latency of one thread, and
// of fetching the code: rules call what they share.
__global__ void __launch_bounds__(kDrawThreads, 1) draw_kernel(const DrawArguments a) {
  const int64_t n = blockIdx.x;
  const int numbers = static_cast<int>(a.row_count * kRuleNumbers);
  double* const rows = dynamic_shared<double>();
  RuleHead* const heads = reinterpret_cast<RuleHead*>(rows + numbers);
  double* const registers = rows + 2 * numbers;
  for (int i = threadIdx.x; i < numbers; i += kDrawThreads) rows[i] = a.rows[i];
  Interpreter interpreter = interpreter_of(a, n, rows, registers);
  __syncthreads();
  for (int64_t k = threadIdx.x; k < a.end; k += kDrawThreads) {
    RuleHead head = interpreter.head_of(k);
    head.stream.prepare();
    heads[k] = head;
  }
  const int64_t first = clear_first_blocks(a, rows);
  __syncthreads();
  if (threadIdx.x != 0) return;
  begin_image(a, n, registers);
  for (int64_t k = first; k < a.end; ++k)
    if (interpreter.run_rule(k, heads[k]).rule >= 0) return;
}

}  // namespace

int draw_cuda(const DrawArguments& arguments, void* stream) {
  return launch(draw_kernel, dim3(static_cast<unsigned>(arguments.count)), dim3(kDrawThreads),
                static_cast<size_t>(shared_bytes(arguments)), stream, arguments);
}

}  // namespace orbbec
