// rgb = matrix rgb + offset, clipped. Numbers: 9 of the matrix by rows, 3 offsets as fractions of
// the maximum value.
#pragma once

#include "step.h"

namespace orbbec {

struct ScaleStep;

struct MatrixStep : ColorStep {
  using InRange = ScaleStep;
  float m[9], offset[3], max_value;

  ORBBEC_HD MatrixStep(const float* numbers, float max_value) : max_value(max_value) {
    for (int i = 0; i < 9; ++i) m[i] = numbers[i];
    for (int c = 0; c < 3; ++c) offset[c] = numbers[9 + c] * max_value;
  }
  // Whether values become `max_value` minus each.
  ORBBEC_HD bool inverts() const {
    bool result = true;
    for (int i = 0; i < 9; ++i) result = result && m[i] == (i % 4 == 0 ? -1.0f : 0.0f);
    for (int c = 0; c < 3; ++c) result = result && offset[c] == max_value;
    return result;
  }
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    float out[3];
    for (int c = 0; c < 3; ++c) {
      const float first = fused_multiply_add(m[3 * c], rgb[0], offset[c]);
      const float second = fused_multiply_add(m[3 * c + 1], rgb[1], first);
      out[c] = clamp_to_range(fused_multiply_add(m[3 * c + 2], rgb[2], second), max_value);
    }
    for (int c = 0; c < 3; ++c) rgb[c] = out[c];
  }
};

// A matrix step without its products with 0 and the clamp to 0.
struct ScaleStep : ColorStep {
  float m[3], max_value;

  ORBBEC_HD explicit ScaleStep(const MatrixStep& step)
      : m{step.m[0], step.m[4], step.m[8]}, max_value(step.max_value) {}
  ORBBEC_HD static bool equals(const MatrixStep& step) {
    constexpr float kMax = 0x1p64f;
    bool is_equal = true;
    for (int i = 0; i < 9; ++i)
      is_equal = is_equal && (i % 4 == 0 ? step.m[i] >= 0 && step.m[i] < kMax : step.m[i] == 0);
    for (int c = 0; c < 3; ++c) is_equal = is_equal && step.offset[c] == 0;
    return is_equal;
  }
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = fminf(fabsf(m[c]) * rgb[c], max_value);
  }
};

}  // namespace orbbec
