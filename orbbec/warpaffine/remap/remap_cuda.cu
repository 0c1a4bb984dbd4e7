#include "../warp_backward_cuda.h"
#include "../warp_cuda.h"
#include "remap.h"

namespace orbbec {

int remap_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<CoordinateField>(
      arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

int remap_backward_cuda(const WarpBackwardArguments& arguments, void* stream) {
  return run_backward_cuda<CoordinateField>(arguments, stream);
}

}  // namespace orbbec
