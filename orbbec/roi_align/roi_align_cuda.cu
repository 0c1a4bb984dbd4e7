#include "roi_cuda.h"

namespace orbbec {

int roi_align_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_align_cuda<decltype(pixel), UprightRoi>(arguments, stream);
  });
}

int roi_align_backward_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_gradient_cuda<decltype(pixel), UprightRoi>(arguments, stream);
  });
}

}  // namespace orbbec
