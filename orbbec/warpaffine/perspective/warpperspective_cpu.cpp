#include "../../core/perspective_transform.h"
#include "../../executors/simd/vector_rows.h"
#include "../warp_backward_cpu.h"

namespace orbbec {

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<PerspectiveTransform>(arguments, [&](const auto& warp) {
    for_each_pixel_cpu(warp, warp.output, parallel,
                       fastest_row<std::decay_t<decltype(warp)>>(simd_level()));
    return 0;
  });
}

void warp_perspective_backward_cpu(const WarpBackwardArguments& arguments,
                                   const ParallelFor& parallel) {
  run_backward_cpu<PerspectiveTransform>(arguments, parallel);
}

}  // namespace orbbec
