#include "../executors/warp_rows_cpu.h"
#include "warp_backward_cpu.h"
#include "warpaffine.h"

namespace orbbec {

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<AffineTransform>(
      arguments, in_floats_only([&](const auto& warp) { run_warp_cpu(warp, parallel); }));
}

void warp_affine_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel) {
  run_backward_cpu<AffineTransform>(arguments, parallel);
}

}  // namespace orbbec
