#include "../core/warp_cuda.h"
#include "warpperspective.h"

namespace orbbec {

int warp_perspective_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<PerspectiveMap>(arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

}  // namespace orbbec
