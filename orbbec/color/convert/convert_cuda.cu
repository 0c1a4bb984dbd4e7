#include "../../executors/ragged_cuda.h"
#include "convert.h"

namespace orbbec {

int cvt_color_cuda(const ConvertArguments& arguments, void* stream) {
  return dispatch_convert(arguments, [&](const auto& pointwise) {
    using Pointwise = std::decay_t<decltype(pointwise)>;
    if constexpr (Pointwise::kOut > Pointwise::kIn) {  // variable-size images cannot gain channels
      return for_each_pixel_cuda(pointwise, pointwise.output, stream);
    } else {
      return for_each_pixel_of_images_cuda(pointwise, pointwise.output, stream);
    }
  });
}

}  // namespace orbbec
