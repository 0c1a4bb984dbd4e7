// A Bezier curve from 0 to M, where M is the maximum value: t^3 + 3 t^2 (1 - t) high +
// 3 t (1 - t)^2 low, at t = v / M. Numbers: low and high as fractions of M, of each channel.
#pragma once

#include "step.h"

namespace orbbec {

struct CurveStep : ColorStep {
  float low[3], high[3], max_value;

  ORBBEC_HD CurveStep(const float* numbers, float max_value) : max_value(max_value) {
    for (int c = 0; c < 3; ++c) low[c] = numbers[c], high[c] = numbers[3 + c];
  }
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const float t = rgb[c] / max_value, rest = 1 - t;
      const float inner = rest * low[c] + t * high[c];
      rgb[c] = clamp_to_range((3 * rest * inner + t * t) * t * max_value, max_value);
    }
  }
};

}  // namespace orbbec
