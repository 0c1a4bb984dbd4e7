// The color program of an image: rows of a parameter table, each a step of steps/ and its numbers.
// Values range from 0 to `max_value`; nothing is rounded between steps. Included by augment.h.
#pragma once

#include "steps/steps.h"

namespace orbbec {

constexpr int kStepNumbers = 16;  // of a row: the step code, then its parameters

struct ProgramArguments {
  const float* rows;  // [N, steps, kStepNumbers]
  int64_t stride;     // elements between the rows of consecutive images; 0 if all share them
  int steps;
  float max_value;  // 255, or 1 for floats
};

struct Program {
  const float* rows;
  int count;
  float max_value, mean;

  ORBBEC_HD Program(const ProgramArguments& a, int64_t n, int64_t gray_sum, int64_t pixels)
      : rows(a.rows == nullptr ? nullptr : a.rows + n * a.stride),
        count(a.rows == nullptr ? 0 : a.steps),
        max_value(a.max_value),
        mean(gray_sum == 0 ? 0.0f : mean_of(gray_sum, pixels, a.max_value)) {}

  // Double precision, so once per image.
  ORBBEC_HD static float mean_of(int64_t gray_sum, int64_t pixels, float max_value) {
    return static_cast<float>(static_cast<double>(gray_sum) * (max_value / kUnits) /
                              static_cast<double>(pixels));
  }

  ORBBEC_HD StepCode code(int step) const {
    const float code = rows[step * kStepNumbers];
    return code >= 1 && code <= kStepCodes - 1 ? static_cast<StepCode>(static_cast<int>(code))
                                               : StepCode::kNone;
  }

  // The step that needs the image's mean; -1 if there is none.
  ORBBEC_HD int contrast_step() const {
    for (int s = 0; s < count; ++s) {
      if (code(s) == StepCode::kContrast) return s;
    }
    return -1;
  }

  // Whether a step subtracts each value from `max_value`.
  ORBBEC_HD bool inverts(int step) const {
    return code(step) == StepCode::kMatrix && step_at<MatrixStep>(step).inverts();
  }

  // Calls body(step) with the functor of a step.
  template <class Body>
  ORBBEC_HD void with_step(int step, const Body& body) const {
    with_step(step, code(step), body);
  }

  // The same where the code is known.
  template <class Body>
  ORBBEC_HD void with_step(int step, StepCode code, const Body& body) const {
    switch (code) {
#define ORBBEC_STEP(id, Step, name) \
  case StepCode::id:                \
    return body(step_at<Step>(step));
      ORBBEC_COLOR_STEPS(ORBBEC_STEP)
#undef ORBBEC_STEP
      default:
        return body(NoStep{});
    }
  }

  template <class Step>
  ORBBEC_HD Step step_at(int step) const {
    Step functor(rows + step * kStepNumbers + 1, max_value);
    if constexpr (std::is_same_v<Step, ContrastStep>) functor.mean = mean;
    return functor;
  }

  // Sums of integer units do not depend on their order. NaN counts as black.
  static constexpr double kUnits = 1 << 24;  // units of `max_value`
  ORBBEC_HD float units_of_1() const { return static_cast<float>(kUnits) / max_value; }
  ORBBEC_HD int gray_units(const float* rgb) const { return gray_units(rgb, units_of_1()); }
  ORBBEC_HD int gray_units(const float* rgb, float units_of_1) const {
    return round_in_range(clamp_to_range(gray_of_rgb(rgb), max_value) * units_of_1);
  }
};

}  // namespace orbbec
