#include "../../executors/cuda/ragged.h"
#include "ycbcr.h"

namespace orbbec {

int ycbcr_to_rgb_cuda(const YcbcrToRgb& op, void* stream) {
  return for_each_pixel_of_ragged_cuda(op, op.stored.planes, stream);
}

}  // namespace orbbec
