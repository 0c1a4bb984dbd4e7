#include "../executors/cuda/pointwise.h"
#include "blends.h"

namespace orbbec {
namespace {

template <class T, class F>
int run(const BlendPixels<T, MixupRule<F>>& op, void* stream) {
  return run_pointwise_cuda(op, stream);
}
// Soft masks are of dense images.
template <class T, class F>
int run(const BlendPixels<T, SoftMaskRule<F>>& op, void* stream) {
  return for_each_pixel_cuda(op, op.output, stream);
}

}  // namespace

int blend_pixels_cuda(const BlendArguments& arguments, void* stream) {
  return dispatch_blends(arguments, [&](const auto& op) { return run(op, stream); });
}

int add_to_pairs_cuda(const SumArguments& arguments, void* stream) {
  return dispatch_sum(arguments,
                      [&](const auto& op) { return for_each_pixel_cuda(op, op.output, stream); });
}

}  // namespace orbbec
