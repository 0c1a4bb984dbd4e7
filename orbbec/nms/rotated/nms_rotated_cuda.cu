#include "../greedy_cuda.h"
#include "nms_rotated.h"

namespace orbbec {

int nms_rotated_cuda(const NmsRotatedArguments& a, void* stream) {
  return a.is_double ? greedy_cuda(RotatedOverlapRule<double>(a), a.greedy, stream)
                     : greedy_cuda(RotatedOverlapRule<float>(a), a.greedy, stream);
}

}  // namespace orbbec
