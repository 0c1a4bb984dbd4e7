// The colour program of an image: rows of a table, each a step and its numbers. Values lie from 0
// to white, and nothing is rounded between steps. Included by augment.h.
#pragma once

#include "../core/hue.h"
#include "../core/power.h"

namespace orbbec {

constexpr int kStepNumbers = 16;  // of a row: the code, then what it needs

enum class StepCode { kNone, kMatrix, kHue, kGamma, kPosterize, kSolarize, kContrast };

struct ProgramArguments {
  const float* rows;  // [N, steps, kStepNumbers]
  int64_t stride;     // from one image's rows to the next; 0 if all share them
  int steps;
  float white;  // 255, or 1 of floats
};

ORBBEC_HD float from_black_to_white(float value, float white) {
  return smaller(larger(value, 0.0f), white);
}

struct NoStep {
  ORBBEC_HD void operator()(float (&)[3]) const {}
};

struct MatrixStep {
  float m[9], offset[3], white;

  ORBBEC_HD MatrixStep(const float* numbers, float white) : white(white) {
    for (int i = 0; i < 9; ++i) m[i] = numbers[i];
    for (int c = 0; c < 3; ++c) offset[c] = numbers[9 + c] * white;
  }
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    float out[3];
    for (int c = 0; c < 3; ++c) {
      const float first = fused_multiply_add(m[3 * c], rgb[0], offset[c]);
      const float second = fused_multiply_add(m[3 * c + 1], rgb[1], first);
      out[c] = from_black_to_white(fused_multiply_add(m[3 * c + 2], rgb[2], second), white);
    }
    for (int c = 0; c < 3; ++c) rgb[c] = out[c];
  }
};

struct HueStep {
  float turn, white;
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    const float scale = 1 / white, parts[3] = {rgb[0] * scale, rgb[1] * scale, rgb[2] * scale};
    float turned[3];
    turn_hue(parts, turn, turned);
    for (int c = 0; c < 3; ++c) rgb[c] = turned[c] * white;
  }
};

struct GammaStep {
  float gamma, gain, white;
  ORBBEC_HD float raised(float value) const {
    const double power_of_share = power(static_cast<double>(value / white), gamma);
    return from_black_to_white(static_cast<float>(power_of_share) * gain * white, white);
  }
  // Not in a loop: one this long would keep the compiler from making vectors.
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    rgb[0] = raised(rgb[0]);
    rgb[1] = raised(rgb[1]);
    rgb[2] = raised(rgb[2]);
  }
};

struct PosterizeStep {
  float levels, white;
  ORBBEC_HD PosterizeStep(float bits, float white)
      : levels(static_cast<float>(1 << clamp_int(round_to_int(bits), 0, 8))), white(white) {}
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    const float step = white > 1 ? 256 / levels : 1 / levels, highest = (levels - 1) * step;
    for (int c = 0; c < 3; ++c) {
      const float level = floorf(rgb[c] / step) * step;
      rgb[c] = smaller(larger(level, 0.0f), highest);
    }
  }
};

struct SolarizeStep {
  float threshold, white;
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) rgb[c] = choose(rgb[c] >= threshold, white - rgb[c], rgb[c]);
  }
};

// torchvision's gray.
ORBBEC_HD float gray_of_rgb(const float* rgb) {
  return fused_multiply_add(rgb[2], 0.114f, fused_multiply_add(rgb[1], 0.587f, rgb[0] * 0.2989f));
}

struct ContrastStep {
  float factor, rest, mean, white;
  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const float mixed = fused_multiply_add(mean, rest, rgb[c] * factor);
      rgb[c] = from_black_to_white(mixed, white);
    }
  }
};

struct Program {
  const float* rows;
  int count;
  float white, mean;

  ORBBEC_HD Program(const ProgramArguments& a, int64_t n, int64_t gray_sum, int64_t pixels)
      : rows(a.rows == nullptr ? nullptr : a.rows + n * a.stride),
        count(a.rows == nullptr ? 0 : a.steps),
        white(a.white),
        mean(static_cast<float>(static_cast<double>(gray_sum) * (a.white / kUnits) /
                                static_cast<double>(pixels))) {}

  ORBBEC_HD StepCode code(int step) const {
    const float code = rows[step * kStepNumbers];
    return code >= 1 && code <= 6 ? static_cast<StepCode>(static_cast<int>(code)) : StepCode::kNone;
  }

  // The step that asks for a mean; -1 if none does.
  ORBBEC_HD int contrast_step() const {
    for (int s = 0; s < count; ++s) {
      if (code(s) == StepCode::kContrast) return s;
    }
    return -1;
  }

  // body(step) with what does the work of a step.
  template <class Body>
  ORBBEC_HD void with_step(int step, const Body& body) const {
    const float* const numbers = rows + step * kStepNumbers + 1;
    switch (code(step)) {
      case StepCode::kMatrix:
        return body(MatrixStep(numbers, white));
      case StepCode::kHue:
        return body(HueStep{numbers[0], white});
      case StepCode::kGamma:
        return body(GammaStep{numbers[0], numbers[1], white});
      case StepCode::kPosterize:
        return body(PosterizeStep(numbers[0], white));
      case StepCode::kSolarize:
        return body(SolarizeStep{numbers[0] * white, white});
      case StepCode::kContrast:
        return body(ContrastStep{numbers[0], 1 - numbers[0], mean, white});
      default:
        return body(NoStep{});
    }
  }

  // Sums of whole units do not depend on their order. NaN counts as black.
  static constexpr double kUnits = 1 << 24;  // in white
  ORBBEC_HD int gray_units(const float* rgb) const {
    const float gray = from_black_to_white(gray_of_rgb(rgb), white);
    return static_cast<int>(rintf(gray * (static_cast<float>(kUnits) / white)));
  }
};

}  // namespace orbbec
