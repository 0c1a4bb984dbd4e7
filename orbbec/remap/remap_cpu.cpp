#include "../core/warp_cpu.h"
#include "remap.h"

namespace orbbec {

void remap_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<TableMap>(arguments, [&](const auto& warp) { return launch_warp_cpu(warp, parallel); });
}

}  // namespace orbbec
