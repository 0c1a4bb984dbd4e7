// M * gain * (v / M)^gamma, clipped, where M is the maximum value. Numbers: gamma, gain.
#pragma once

#include "../../core/power.h"
#include "step.h"

namespace orbbec {

struct GammaStep : ColorStep {
  static constexpr bool kIsLong = true;
  float gamma, gain, max_value;

  ORBBEC_HD GammaStep(const float* numbers, float max_value)
      : gamma(numbers[0]), gain(numbers[1]), max_value(max_value) {}
  ORBBEC_HD float raised(float value) const {
    const double power_of_fraction = power(static_cast<double>(value / max_value), gamma);
    return clamp_to_range(static_cast<float>(power_of_fraction) * gain * max_value, max_value);
  }
  // Written out: a loop this long would keep the compiler from vectorizing.
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    rgb[0] = raised(rgb[0]);
    rgb[1] = raised(rgb[1]);
    rgb[2] = raised(rgb[2]);
  }
};

}  // namespace orbbec
