#include "../core/warp_cuda.h"
#include "warpaffine.h"

namespace orbbec {

int warp_affine_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<AffineMap>(arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

}  // namespace orbbec
