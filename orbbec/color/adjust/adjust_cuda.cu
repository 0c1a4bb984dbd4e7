#include "../../executors/cuda/pointwise.h"
#include "adjust.h"
#include "sharpen_cuda.h"

namespace orbbec {
namespace {

template <class Pointwise>
int run(const Pointwise& pointwise, void* stream) {
  return run_pointwise_cuda(pointwise, stream);
}
template <class T>
int run(const Sharpen<T>& sharpen, void* stream) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    const ValueRows rows(sharpen.source, sharpen.output);
    if (rows.planes > 0) return sharpen_rows_cuda(sharpen, rows, stream);
  }
  return for_each_pixel_cuda(sharpen, sharpen.output, stream);
}

}  // namespace

int adjust_cuda(const AdjustArguments& arguments, void* stream) {
  return dispatch_adjust(arguments, [&](const auto& op) { return run(op, stream); });
}

}  // namespace orbbec
