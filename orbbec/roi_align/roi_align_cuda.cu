#include "roi_cuda.h"
#include "roi_scatter_cuda.h"

namespace orbbec {

int roi_align_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    return launch_roi_align_cuda<decltype(pixel), UprightRoi>(arguments, stream);
  });
}

int roi_align_backward_cuda(const RoiArguments& arguments, void* stream) {
  return dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    const int status = make_roi_geometries_cuda<Compute<T>, UprightRoi>(arguments, stream);
    if (status != 0) return status;
    return arguments.sampling_ratio == 2
               ? launch_scatter_roi_gradient(ScatterRoiGradient<T, 2>(arguments), stream)
               : launch_scatter_roi_gradient(ScatterRoiGradient<T, 0>(arguments), stream);
  });
}

}  // namespace orbbec
