#include "../core/executor_cuda.h"
#include "philox.h"

namespace orbbec {

// A thread owns four neighbours of a row.
int philox_noise_cuda(const PhiloxNoise& op, void* stream) {
  return for_each_pixel_cuda(op, groups_of(op), stream);
}

}  // namespace orbbec
