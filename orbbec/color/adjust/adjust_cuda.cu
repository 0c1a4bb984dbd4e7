#include "../../executors/ragged_cuda.h"
#include "adjust.h"

namespace orbbec {

int adjust_cuda(const AdjustArguments& arguments, void* stream) {
  return dispatch_adjust(arguments, [&](const auto& pointwise) {
    return for_each_pixel_of_images_cuda(pointwise, pointwise.output, stream);
  });
}

}  // namespace orbbec
