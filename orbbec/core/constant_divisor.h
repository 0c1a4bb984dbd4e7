// Division by a number that is known before a launch, as a product and a fused correction: the bits
// of the division in a third of its time. Included by augment/ and color/.
//
// tests/test_constant_divisor.py proves it for every divisor. Source: Brisebarre, Muller, Raina,
// Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in Advance, IEEE
// Transactions on Computers 53 (2004).
#pragma once

#include "scalar.h"

namespace orbbec {

// The divisor must lie in this range, and values too unless they are +0: no step then leaves the
// range of normal floats.
constexpr float kMinDivided = 0x1p-60f, kMaxDivided = 0x1p60f;

inline bool in_divided_range(float value) {
  return magnitude(value) >= kMinDivided && magnitude(value) <= kMaxDivided;
}

struct ConstantDivisor {
  float divisor, reciprocal;  // 1 / divisor, rounded

  ORBBEC_HD float quotient(float value) const {
    const float near = value * reciprocal;
    const float rest = fused_multiply_add(near, -divisor, value);
    return fused_multiply_add(rest, reciprocal, near);
  }
};

}  // namespace orbbec
