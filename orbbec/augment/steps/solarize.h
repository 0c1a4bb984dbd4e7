// M - v for values v at or above the threshold, where M is the maximum value. Number: the threshold
// as a fraction of M.
#pragma once

#include "step.h"

namespace orbbec {

struct SolarizeStep : ColorStep {
  float threshold, max_value;

  ORBBEC_HD SolarizeStep(const float* numbers, float max_value)
      : threshold(numbers[0] * max_value), max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = choose(rgb[c] >= threshold, max_value - rgb[c], rgb[c]);
  }
};

}  // namespace orbbec
