#include "warp_backward_cuda.h"
#include "warp_cuda.h"
#include "warpaffine.h"

namespace orbbec {

int warp_affine_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<AffineTransform>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int warp_affine_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward_cuda<AffineTransform>(arguments, stream);
}

}  // namespace orbbec
