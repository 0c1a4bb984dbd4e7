// The optimizer barrier of kernels and of the functors that they run.
#pragma once

#include <type_traits>

#include "common.h"

namespace orbbec {

// Hides from the optimizer of device code where a number comes from: the number is not computed
// again, and what depends on it is computed after this, not shared with what was computed before.
template <class T>
ORBBEC_HD T opaque(T number) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_floating_point_v<T>) {
    asm volatile("" : "+f"(number));
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("" : "+l"(number));
  } else {
    asm volatile("" : "+r"(number));
  }
#endif
  return number;
}

}  // namespace orbbec
