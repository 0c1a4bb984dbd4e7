#include "../executors/cuda/tiles.h"
#include "scaleoffset.h"

namespace orbbec {

int scale_offset_cuda(const ScaleOffsetArguments& arguments, void* stream) {
  return dispatch_scale_offset(
      arguments, [&](const auto& op) { return for_each_pixel_cuda(op, op.output, stream); });
}

}  // namespace orbbec
