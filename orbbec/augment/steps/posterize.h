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
    const float step = max_value > 1 ? 256 / levels : 1 / levels, highest = (levels - 1) * step;
    for (int c = 0; c < 3; ++c) {
      const float level = floorf(rgb[c] / step) * step;
      rgb[c] = smaller(larger(level, 0.0f), highest);
    }
  }
};

}  // namespace orbbec
