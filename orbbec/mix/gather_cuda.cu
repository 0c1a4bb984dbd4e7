#include "../executors/ragged_cuda.h"
#include "gather.h"

namespace orbbec {

int gather_pixels_cuda(const GatherArguments& arguments, void* stream) {
  return dispatch_gather(arguments, [&](const auto& op) {
    return for_each_pixel_of_images_cuda(op, op.output, stream);
  });
}

}  // namespace orbbec
