#include "../../core/perspective_transform.h"
#include "../warp_backward.h"
#include "../warp_cuda.h"

namespace orbbec {

int warp_perspective_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<PerspectiveTransform>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int warp_perspective_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward<PerspectiveTransform>(arguments, [&](const auto& op, int items, int64_t) {
    return for_each_item_cuda(op, arguments.warp.output.count, items, stream);
  });
}

}  // namespace orbbec
