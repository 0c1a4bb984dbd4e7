// A factor from 0 to 1 inside a polygon: where a ray along x crosses its sides an odd number of
// times. Numbers: the factor, then x and y of seven corners in output pixels; corners may repeat.
#pragma once

#include "step.h"

namespace orbbec {

struct ShadowStep : PlacedStep {
  static constexpr bool kIsLong = true;
  static constexpr int kCorners = 7;
  float factor, corners[kCorners][2];

  ORBBEC_HD ShadowStep(const float* numbers, float) : factor(clamp_to_range(numbers[0], 1)) {
    for (int i = 0; i < kCorners; ++i)
      for (int axis = 0; axis < 2; ++axis) corners[i][axis] = numbers[1 + 2 * i + axis];
  }
  ORBBEC_HD void operator()(float (&rgb)[3], float y, float x) const {
    bool inside = false;
    for (int i = 0; i < kCorners; ++i) {
      const float* const from = corners[i];
      const float* const to = corners[i + 1 < kCorners ? i + 1 : 0];
      const float along = (x - from[0]) * (to[1] - from[1]),
                  across = (to[0] - from[0]) * (y - from[1]);
      const bool is_downward = from[1] <= y && y < to[1], is_upward = to[1] <= y && y < from[1];
      inside ^= (is_downward & (along < across)) | (is_upward & (along > across));
    }
    for (int c = 0; c < 3; ++c) rgb[c] = choose(inside, rgb[c] * factor, rgb[c]);
  }
};

}  // namespace orbbec
