// mean + factor * (v - mean), clipped, where the mean is that of the gray output before this step;
// at most one per image. Number: the factor.
#pragma once

#include "step.h"

namespace orbbec {

// torchvision's gray.
ORBBEC_HD float gray_of_rgb(const float* rgb) {
  return fused_multiply_add(rgb[2], 0.114f, fused_multiply_add(rgb[1], 0.587f, rgb[0] * 0.2989f));
}

struct ContrastStep : ColorStep {
  float factor, rest, mean = 0, max_value;  // the program sets the mean

  ORBBEC_HD ContrastStep(const float* numbers, float max_value)
      : factor(numbers[0]), rest(1 - numbers[0]), max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const float mixed = fused_multiply_add(mean, rest, rgb[c] * factor);
      rgb[c] = clamp_to_range(mixed, max_value);
    }
  }
};

}  // namespace orbbec
