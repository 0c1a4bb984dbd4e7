#include "../core/warp_cuda.h"
#include "remap.h"

namespace orbbec {

int remap_cuda(const WarpArguments& arguments, void* stream) {
  return dispatch_warp<TableMap>(arguments, [&](const auto& warp) { return launch_warp_cuda(warp, stream); });
}

}  // namespace orbbec
