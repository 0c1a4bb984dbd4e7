// Values v at or above the threshold become M - v, where M is the maximum value; or, where the
// second number is not 0, they stay and the others become v + s * M, at most M. Numbers: the
// threshold as a fraction of M, whether to add, the summand s.
#pragma once

#include "step.h"

namespace orbbec {

struct SolarizeStep : ColorStep {
  float threshold, sign, offset, summand, max_value;

  ORBBEC_HD SolarizeStep(const float* numbers, float max_value)
      : threshold(numbers[0] * max_value),
        sign(choose(numbers[1] != 0, 1.0f, -1.0f)),
        offset(choose(numbers[1] != 0, 0.0f, max_value)),
        summand(numbers[2] * max_value),
        max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const float sum = rgb[c] + summand;
      const float below = choose(sum > max_value, max_value, sum);
      rgb[c] = choose(rgb[c] >= threshold, offset + sign * rgb[c], below);
    }
  }
};

}  // namespace orbbec
