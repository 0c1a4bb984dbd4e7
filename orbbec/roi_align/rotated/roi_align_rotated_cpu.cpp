#include "../roi_backward_cpu.h"
#include "../roi_cpu.h"
#include "roi_align_rotated.h"

namespace orbbec {

void roi_align_rotated_cpu(const RoiArguments& arguments, const ParallelFor& parallel) {
  dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    RoiAlignCpu<decltype(pixel), RotatedRoi>(arguments, parallel).run();
  });
}

void roi_align_rotated_backward_cpu(const RoiArguments& arguments, const ParallelFor& parallel) {
  dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    RoiAlignBackwardCpu<decltype(pixel), RotatedRoi>(arguments, parallel).run();
  });
}

}  // namespace orbbec
