#include "../../core/perspective_transform.h"
#include "../../executors/warp_rows_cpu.h"
#include "../warp_backward_cpu.h"

namespace orbbec {

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<PerspectiveTransform>(arguments,
                                      [&](const auto& warp) { run_warp_cpu(warp, parallel); });
}

void warp_perspective_backward_cpu(const WarpBackwardArguments& arguments,
                                   const ParallelFor& parallel) {
  run_backward_cpu<PerspectiveTransform>(arguments, parallel);
}

}  // namespace orbbec
