#include "../../executors/simd/vector_rows.h"
#include "../warp_backward_cpu.h"
#include "remap.h"

namespace orbbec {

void remap_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<CoordinateField>(arguments, [&](const auto& warp) {
    for_each_pixel_cpu(warp, warp.output, parallel,
                       fastest_row<std::decay_t<decltype(warp)>>(simd_level()));
    return 0;
  });
}

void remap_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel) {
  run_backward_cpu<CoordinateField>(arguments, parallel);
}

}  // namespace orbbec
