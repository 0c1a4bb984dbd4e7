#include "../warp_backward.h"
#include "../warp_cuda.h"
#include "remap.h"

namespace orbbec {

int remap_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<CoordinateField>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int remap_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward<CoordinateField>(arguments, [&](const auto& op, int items, int64_t) {
    return for_each_item_cuda(op, arguments.warp.output.count, items, stream);
  });
}

}  // namespace orbbec
