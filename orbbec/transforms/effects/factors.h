// Pixels times a factor plus a shift, which each pixel has of its own. Included by factors_cpu.cpp
// and binding_factors.cpp.
#pragma once

#include <type_traits>

#include "../../core/image.h"
#include "../../core/scalar.h"

namespace orbbec {

struct FactorArguments {
  AnyImages source, output;  // uint8 or float32
  const float* factors;      // [N, H, W]
  const float* shifts;       // [N, H, W], or null for 0
  DType dtype;
};

// Rounded to bytes; floats are clipped to 0 to 1.
template <class T>
ORBBEC_HD T scaled_and_shifted(T value, float factor, float shift) {
  const float scaled = load(value) * factor + shift;
  if constexpr (std::is_same_v<T, uint8_t>) {
    return store<T>(scaled);
  } else {
    return scaled < 0 ? 0.0f : scaled > 1 ? 1.0f : scaled;
  }
}

}  // namespace orbbec
