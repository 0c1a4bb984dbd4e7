// M * gain * (v / M)^gamma, clipped, where M is the maximum value. Numbers: gamma, gain.
#pragma once

#include "../../core/rounded_power.h"
#include "step.h"

namespace orbbec {

struct GammaStep : ColorStep {
  static constexpr bool kIsLong = true, kHasShortForm = true;
  float gamma, gain, max_value;

  ORBBEC_HD GammaStep(const float* numbers, float max_value)
      : gamma(numbers[0]), gain(numbers[1]), max_value(max_value) {}
  ORBBEC_HD float scaled(float power_of_fraction) const {
    return clamp_to_range(power_of_fraction * gain * max_value, max_value);
  }
  ORBBEC_HD float raised(float value) const {
    return scaled(static_cast<float>(power(static_cast<double>(value / max_value), gamma)));
  }
  template <bool kFused>
  ORBBEC_HD bool short_form(float value, float& result) const {
    float power_of_fraction;
    const bool is_certain = rounded_power<kFused>(value / max_value, gamma, power_of_fraction);
    result = scaled(power_of_fraction);
    return is_certain;
  }
  // Written out: a loop this long would keep the compiler from vectorizing.
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    rgb[0] = raised(rgb[0]);
    rgb[1] = raised(rgb[1]);
    rgb[2] = raised(rgb[2]);
  }
};

}  // namespace orbbec
