#include "../executors/ragged_cuda.h"
#include "blends.h"

namespace orbbec {

int blend_pixels_cuda(const BlendArguments& arguments, void* stream) {
  return dispatch_blends(arguments, [&](const auto& op) {
    return for_each_pixel_of_images_cuda(op, op.output, stream);
  });
}

int add_to_pairs_cuda(const SumArguments& arguments, void* stream) {
  return dispatch_sum(arguments,
                      [&](const auto& op) { return for_each_pixel_cuda(op, op.output, stream); });
}

}  // namespace orbbec
