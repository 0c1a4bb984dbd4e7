#include "../core/executor_cpu.h"
#include "philox.h"

namespace orbbec {

void philox_noise_cpu(const PhiloxNoise& op, const ParallelFor& parallel) {
  for_each_pixel_cpu(op, groups_of(op), parallel);
}

}  // namespace orbbec
