#include "../core/warp_cpu.h"
#include "warpaffine.h"

namespace orbbec {

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<AffineMap>(arguments, [&](const auto& warp) { return launch_warp_cpu(warp, parallel); });
}

}  // namespace orbbec
