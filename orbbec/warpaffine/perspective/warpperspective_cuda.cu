#include "../../core/perspective_transform.h"
#include "../warp_backward_cuda.h"
#include "../warp_cuda.h"

namespace orbbec {

int warp_perspective_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<PerspectiveTransform>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int warp_perspective_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward_cuda<PerspectiveTransform>(arguments, stream);
}

}  // namespace orbbec
