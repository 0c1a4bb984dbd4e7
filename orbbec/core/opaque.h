// The optimizer barrier of kernels and of the functors that they run.
#pragma once

#include "common.h"

namespace orbbec {

// Hides a number from the optimizer in device code: what depends on it is neither moved out of a
// loop or a branch nor computed again, which would take registers or instructions elsewhere.
ORBBEC_HD int opaque(int number) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(number));
#endif
  return number;
}
ORBBEC_HD int64_t opaque(int64_t number) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(number));
#endif
  return number;
}
ORBBEC_HD float opaque(float number) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+f"(number));
#endif
  return number;
}

}  // namespace orbbec
