// A factor that is linear in the position of the output pixel; clipped. Numbers: the factor at
// (0, 0), and what it gains per pixel along x and y.
#pragma once

#include "step.h"

namespace orbbec {

struct RampStep : PlacedStep {
  float first, per_x, per_y, max_value;

  ORBBEC_HD RampStep(const float* numbers, float max_value)
      : first(numbers[0]), per_x(numbers[1]), per_y(numbers[2]), max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3], float y, float x) const {
    const float gain = fused_multiply_add(x, per_x, fused_multiply_add(y, per_y, first));
    for (int c = 0; c < 3; ++c) rgb[c] = clamp_to_range(rgb[c] * gain, max_value);
  }
};

}  // namespace orbbec
