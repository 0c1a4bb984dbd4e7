#include "../../executors/cuda/pointwise.h"
#include "convert.h"

namespace orbbec {

int cvt_color_cuda(const ConvertArguments& arguments, void* stream) {
  return dispatch_convert(
      arguments, [&](const auto& pointwise) { return run_pointwise_cuda(pointwise, stream); });
}

}  // namespace orbbec
