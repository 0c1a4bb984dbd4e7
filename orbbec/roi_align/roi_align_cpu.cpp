#include "roi_backward_cpu.h"
#include "roi_cpu.h"

namespace orbbec {

void roi_align_cpu(const RoiArguments& arguments, const ParallelFor& parallel) {
  dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    RoiAlignCpu<decltype(pixel), UprightRoi>(arguments, parallel).run();
  });
}

void roi_align_backward_cpu(const RoiArguments& arguments, const ParallelFor& parallel) {
  dispatch_roi_dtype(arguments.dtype, [&](auto pixel) {
    RoiAlignBackwardCpu<decltype(pixel), UprightRoi>(arguments, parallel).run();
  });
}

}  // namespace orbbec
