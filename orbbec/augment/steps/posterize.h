// Keeps the high bits. Number: how many, 0 to 8.
#pragma once

#include "step.h"

namespace orbbec {

struct PosterizeStep : ColorStep {
  float levels, max_value;

  ORBBEC_HD PosterizeStep(const float* numbers, float max_value)
      : levels(static_cast<float>(1 << clamp_int(round_to_int(numbers[0]), 0, 8))),
        max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    const float step = max_value > 1 ? 256 / levels : 1 / levels;
    for (int c = 0; c < 3; ++c)
      rgb[c] = truncate_in_range(clamp_to_range(rgb[c] / step, levels - 1)) * step;
  }
};

}  // namespace orbbec
