#include "greedy_cuda.h"
#include "nms.h"

namespace orbbec {

int nms_cuda(const NmsArguments& a, void* stream) {
  return a.is_double ? greedy_cuda(overlap_rule<double>(a), a.greedy, stream)
                     : greedy_cuda(overlap_rule<float>(a), a.greedy, stream);
}

}  // namespace orbbec
