#include "median.h"
#include "tiles_cuda.h"

namespace orbbec {

int median_blur_cuda(const MedianArguments& arguments, void* stream) {
  return dispatch_pixels<Median>(arguments,
                                 [&](const auto& op) { return every_pixel_cuda(op, stream); });
}

}  // namespace orbbec
