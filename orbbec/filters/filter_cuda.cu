#include "filter.h"
#include "tiles_cuda.h"

namespace orbbec {

int filter2d_cuda(const FilterArguments& arguments, void* stream) {
  return dispatch_pixels<Filter2d>(arguments,
                                   [&](const auto& op) { return every_pixel_cuda(op, stream); });
}

}  // namespace orbbec
