// The color program of an image: rows of a parameter table, each a step and its numbers. Values
// range from 0 to `max_value`; nothing is rounded between steps. Included by augment.h.
#pragma once

#include "../core/hue.h"
#include "../core/power.h"

namespace orbbec {

constexpr int kStepNumbers = 16;  // of a row: the step code, then its parameters

enum class StepCode { kNone, kMatrix, kHue, kGamma, kPosterize, kSolarize, kContrast };

struct ProgramArguments {
  const float* rows;  // [N, steps, kStepNumbers]
  int64_t stride;     // elements between the rows of consecutive images; 0 if all share them
  int steps;
  float max_value;  // 255, or 1 for floats
};

ORBBEC_HD float clamp_to_range(float value, float max_value) {
#if defined(__CUDA_ARCH__)  // one instruction each, and the same bits: NaN gives 0, -0 gives +0
  return fminf(fmaxf(value, 0.0f), max_value);
#else
  return smaller(larger(value, 0.0f), max_value);
#endif
}

struct NoStep {
  ORBBEC_HD void operator()(float (&)[3]) const {}
};

struct MatrixStep {
  float m[9], offset[3], max_value;

  ORBBEC_HD MatrixStep(const float* numbers, float max_value) : max_value(max_value) {
    for (int i = 0; i < 9; ++i) m[i] = numbers[i];
    for (int c = 0; c < 3; ++c) offset[c] = numbers[9 + c] * max_value;
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

struct HueStep {
  float shift, max_value, scale;
  ORBBEC_HD HueStep(float shift, float max_value)
      : shift(shift), max_value(max_value), scale(1 / max_value) {}
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

struct GammaStep {
  float gamma, gain, max_value;
  ORBBEC_HD float raised(float value) const {
    const double power_of_fraction = power(static_cast<double>(value / max_value), gamma);
    return clamp_to_range(static_cast<float>(power_of_fraction) * gain * max_value, max_value);
  }
  // Written out: a loop this long would keep the compiler from vectorizing.
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    rgb[0] = raised(rgb[0]);
    rgb[1] = raised(rgb[1]);
    rgb[2] = raised(rgb[2]);
  }
};

struct PosterizeStep {
  float levels, max_value;
  ORBBEC_HD PosterizeStep(float bits, float max_value)
      : levels(static_cast<float>(1 << clamp_int(round_to_int(bits), 0, 8))),
        max_value(max_value) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    const float step = max_value > 1 ? 256 / levels : 1 / levels, highest = (levels - 1) * step;
    for (int c = 0; c < 3; ++c) {
      const float level = floorf(rgb[c] / step) * step;
      rgb[c] = smaller(larger(level, 0.0f), highest);
    }
  }
};

struct SolarizeStep {
  float threshold, max_value;
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = choose(rgb[c] >= threshold, max_value - rgb[c], rgb[c]);
  }
};

// torchvision's gray.
ORBBEC_HD float gray_of_rgb(const float* rgb) {
  return fused_multiply_add(rgb[2], 0.114f, fused_multiply_add(rgb[1], 0.587f, rgb[0] * 0.2989f));
}

struct ContrastStep {
  float factor, rest, mean, max_value;
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const float mixed = fused_multiply_add(mean, rest, rgb[c] * factor);
      rgb[c] = clamp_to_range(mixed, max_value);
    }
  }
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
    return code >= 1 && code <= 6 ? static_cast<StepCode>(static_cast<int>(code)) : StepCode::kNone;
  }

  // The step that needs the image's mean; -1 if there is none.
  ORBBEC_HD int contrast_step() const {
    for (int s = 0; s < count; ++s) {
      if (code(s) == StepCode::kContrast) return s;
    }
    return -1;
  }

  // Calls body(step) with the functor of a step.
  template <class Body>
  ORBBEC_HD void with_step(int step, const Body& body) const {
    with_step(step, code(step), body);
  }

  // The same where the code is known.
  template <class Body>
  ORBBEC_HD void with_step(int step, StepCode code, const Body& body) const {
    const float* const numbers = rows + step * kStepNumbers + 1;
    switch (code) {
      case StepCode::kMatrix:
        return body(MatrixStep(numbers, max_value));
      case StepCode::kHue:
        return body(HueStep(numbers[0], max_value));
      case StepCode::kGamma:
        return body(GammaStep{numbers[0], numbers[1], max_value});
      case StepCode::kPosterize:
        return body(PosterizeStep(numbers[0], max_value));
      case StepCode::kSolarize:
        return body(SolarizeStep{numbers[0] * max_value, max_value});
      case StepCode::kContrast:
        return body(ContrastStep{numbers[0], 1 - numbers[0], mean, max_value});
      default:
        return body(NoStep{});
    }
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
