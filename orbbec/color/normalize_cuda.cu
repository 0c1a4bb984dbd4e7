#include "../executors/executor_cuda.h"
#include "normalize.h"

namespace orbbec {

int normalize_cuda(const NormalizeArguments& arguments, void* stream) {
  return dispatch_normalize(arguments, [&](const auto& pointwise) {
    return for_each_pixel_cuda(pointwise, pointwise.output, stream);
  });
}

}  // namespace orbbec
