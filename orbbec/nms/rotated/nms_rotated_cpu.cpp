#include "../greedy_cpu.h"
#include "nms_rotated.h"

namespace orbbec {

void nms_rotated_cpu(const NmsRotatedArguments& a, const ParallelFor& parallel) {
  a.is_double ? greedy_cpu(RotatedOverlapRule<double>(a), a.greedy, parallel)
              : greedy_cpu(RotatedOverlapRule<float>(a), a.greedy, parallel);
}

}  // namespace orbbec
