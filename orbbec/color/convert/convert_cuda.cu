#include "../../executors/ragged_cuda.h"
#include "convert.h"

namespace orbbec {

int cvt_color_cuda(const ConvertArguments& arguments, void* stream) {
  return dispatch_convert(arguments, [&](const auto& pointwise) {
    return for_each_pixel_of_images_cuda(pointwise, pointwise.output, stream);
  });
}

}  // namespace orbbec
