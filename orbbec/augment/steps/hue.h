// Shifts the hue. Number: the shift, -0.5 to 0.5 of the circle.
#pragma once

#include "../../core/hue.h"
#include "step.h"

namespace orbbec {

struct HueInRangeStep;

struct HueStep : ColorStep {
  using InRange = HueInRangeStep;
  float shift, max_value, scale;

  ORBBEC_HD HueStep(const float* numbers, float max_value)
      : shift(numbers[0]), max_value(max_value), scale(1 / max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const { shifted<false>(rgb); }

  // kIsInRange: whether shift_hue_in_range may be called.
  template <bool kIsInRange>
  ORBBEC_HD void shifted(float (&rgb)[3]) const {
    const float scaled[3] = {rgb[0] * scale, rgb[1] * scale, rgb[2] * scale};
    float out[3];
    if constexpr (kIsInRange) {
      shift_hue_in_range(scaled, shift, out);
    } else {
      shift_hue(scaled, shift, out);
    }
    for (int c = 0; c < 3; ++c) rgb[c] = out[c] * max_value;
  }
};

struct HueInRangeStep : HueStep {
  ORBBEC_HD explicit HueInRangeStep(const HueStep& step) : HueStep(step) {}
  ORBBEC_HD static bool equals(const HueStep& step) { return fabsf(step.shift) <= 1; }
  ORBBEC_HD void operator()(float (&rgb)[3]) const { shifted<true>(rgb); }
};

}  // namespace orbbec
