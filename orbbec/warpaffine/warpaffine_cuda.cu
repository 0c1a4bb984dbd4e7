#include "warp_backward.h"
#include "warp_cuda.h"
#include "warpaffine.h"

namespace orbbec {

int warp_affine_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<AffineTransform>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int warp_affine_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward<AffineTransform>(arguments, [&](const auto& op, int items, int64_t) {
    return for_each_item_cuda(op, arguments.warp.output.count, items, stream);
  });
}

}  // namespace orbbec
