#include "../../executors/cuda/pointwise.h"
#include "adjust.h"

namespace orbbec {
namespace {

template <class Pointwise>
int run(const Pointwise& pointwise, void* stream) {
  return run_pointwise_cuda(pointwise, stream);
}
template <class T>
int run(const Sharpen<T>& sharpen, void* stream) {
  return for_each_pixel_of_images_cuda(sharpen, sharpen.output, stream);
}

}  // namespace

int adjust_cuda(const AdjustArguments& arguments, void* stream) {
  return dispatch_adjust(arguments, [&](const auto& op) { return run(op, stream); });
}

}  // namespace orbbec
