// v * scale + offset * M, clipped, where M is the maximum value. Numbers: scale, offset.
#pragma once

#include "step.h"

namespace orbbec {

struct ScaleOffsetStep : ColorStep {
  float scale, offset, max_value;

  ORBBEC_HD ScaleOffsetStep(const float* numbers, float max_value)
      : scale(numbers[0]), offset(numbers[1] * max_value), max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = clamp_to_range(rgb[c] * scale + offset, max_value);
  }
};

}  // namespace orbbec
