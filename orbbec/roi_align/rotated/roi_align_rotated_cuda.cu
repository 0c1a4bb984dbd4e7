#include "../roi_cuda.h"
#include "roi_align_rotated.h"

namespace orbbec {

int roi_align_rotated_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_align_cuda<decltype(pixel), RotatedRoi>(arguments, stream);
  });
}

int roi_align_rotated_backward_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_gradient_cuda<decltype(pixel), RotatedRoi>(arguments, stream);
  });
}

}  // namespace orbbec
