#include "../roi_cuda.h"
#include "roi_align_rotated.h"
#include "rotated_gradient_cuda.h"

namespace orbbec {

int roi_align_rotated_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_align_cuda<decltype(pixel), RotatedRoi>(arguments, stream);
  });
}

int roi_align_rotated_backward_cuda(const RoiArguments& arguments, void* stream) {
  const RoiArguments& a = arguments;
  return dispatch_roi_dtype(a.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    int status = make_roi_geometries_cuda<Compute<T>, RotatedRoi>(a, stream);
    if (status == 0 && a.pooled.data != a.channels_last) {
      status = to_channels_last_cuda<T>(a.pooled, a.channels_last, a.channels_last_stride, stream);
    }
    if (status != 0) return status;
    if (a.sampling_ratio > 0 && is_power_of_two(Compute<T>(a.sampling_ratio))) {
      return launch_roi_gradient(GatherRoiGradient<T, RotatedRoi, true>(a), stream);
    }
    return launch_roi_gradient(GatherRoiGradient<T, RotatedRoi, false>(a), stream);
  });
}

}  // namespace orbbec
