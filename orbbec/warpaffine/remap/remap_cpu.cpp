#include "../../executors/warp_rows_cpu.h"
#include "../warp_backward_cpu.h"
#include "remap.h"

namespace orbbec {

void remap_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<CoordinateField>(
      arguments, in_floats_only([&](const auto& warp) { run_warp_cpu(warp, parallel); }));
}

void remap_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel) {
  run_backward_cpu<CoordinateField>(arguments, parallel);
}

}  // namespace orbbec
