// A factor by the distance of the output pixel from a center, 1 + a * d + b * exp(-d), where
// d = s (x - cx)^2 + t (y - cy)^2; clipped. Numbers: cx, cy, s, t, a, b.
#pragma once

#include "../../core/elementary.h"
#include "step.h"

namespace orbbec {

struct RadialStep : PlacedStep {
  static constexpr bool kIsLong = true;
  float center_x, center_y, scale_x, scale_y, slope, peak, max_value;

  ORBBEC_HD RadialStep(const float* numbers, float max_value)
      : center_x(numbers[0]),
        center_y(numbers[1]),
        scale_x(numbers[2]),
        scale_y(numbers[3]),
        slope(numbers[4]),
        peak(numbers[5]),
        max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3], float y, float x) const {
    const float dx = x - center_x, dy = y - center_y;
    const float distance = scale_x * dx * dx + scale_y * dy * dy;
    const float gain = 1 + slope * distance + peak * exponential(-distance);
    for (int c = 0; c < 3; ++c) rgb[c] = clamp_to_range(rgb[c] * gain, max_value);
  }
};

}  // namespace orbbec
