#include "../core/warp_cpu.h"
#include "warpperspective.h"

namespace orbbec {

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<PerspectiveMap>(arguments, [&](const auto& warp) { return launch_warp_cpu(warp, parallel); });
}

}  // namespace orbbec
