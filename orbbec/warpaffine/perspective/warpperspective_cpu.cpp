#include "../../core/perspective_transform.h"
#include "../../executors/simd/vector_rows.h"
#include "../warp_backward.h"

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
  run_backward<PerspectiveTransform>(
      arguments, [&](const auto& op, int items, int64_t pixels_per_item) {
        for_each_item_cpu(op, arguments.warp.output.count, items, pixels_per_item, parallel);
        return 0;
      });
}

}  // namespace orbbec
