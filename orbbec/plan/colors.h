// Color rules: each adds a row to the color program of an image, as the headers of augment read it.
// Included by draw.h.
#pragma once

#include "../augment/augment.h"
#include "operations.h"

namespace orbbec {

// The rows of one image in a block of words; rows that follow the last one are zeros.
class ColorRows {
 public:
  ORBBEC_HD ColorRows(float* rows, int most, double& count)
      : rows_(rows), most_(most), count_(count) {}

  ORBBEC_HD float* add(StepCode code) {
    const double at = smaller(larger(count_, 0.0), most_ - 1.0);
    float* const row = rows_ + static_cast<int>(at) * kStepNumbers;
    count_ = at + 1;
    row[0] = static_cast<float>(static_cast<int>(code));
    return row + 1;
  }

  // rgb = (factor * identity + (1 - factor) * gray) rgb + summand * maximum
  ORBBEC_HD void add_line(double factor, bool to_gray, double summand) {
    const double gray[3] = {0.2989, 0.587, 0.114};
    float* const numbers = add(StepCode::kMatrix);
    for (int i = 0; i < 9; ++i) {
      const double same = factor * (i % 4 == 0 ? 1.0 : 0.0);
      numbers[i] = static_cast<float>(to_gray ? same + (1 - factor) * gray[i % 3] : same);
    }
    for (int i = 9; i < 12; ++i) numbers[i] = static_cast<float>(summand);
  }

  ORBBEC_HD void add_number(StepCode code, double number) {
    add(code)[0] = static_cast<float>(number);
  }

  // 0 brightness, 1 contrast, 2 saturation, 3 hue, as numbered by torchvision.
  ORBBEC_HD void add_adjustment(int which, double factor) {
    if (which == 0) return add_line(factor, false, 0);
    if (which == 2) return add_line(factor, true, 0);
    add_number(which == 1 ? StepCode::kContrast : StepCode::kHue, factor);
  }

  // Each channel: factor * value + summand * maximum.
  ORBBEC_HD void add_scale(const double* factors, const double* summands) {
    float* const numbers = add(StepCode::kMatrix);
    for (int i = 0; i < 9; ++i) numbers[i] = i % 4 == 0 ? static_cast<float>(factors[i / 4]) : 0.0f;
    for (int c = 0; c < 3; ++c) numbers[9 + c] = static_cast<float>(summands[c]);
  }

  // Values below the threshold gain the summand.
  ORBBEC_HD void add_below(double threshold, double summand) {
    float* const numbers = add(StepCode::kSolarize);
    numbers[0] = static_cast<float>(threshold);
    numbers[1] = 1;
    numbers[2] = static_cast<float>(summand);
  }

  // Output channel c is input channel order[c].
  ORBBEC_HD void add_swap(const double* order) {
    float* const numbers = add(StepCode::kMatrix);
    for (int c = 0; c < 3; ++c)
      for (int from = 0; from < 3; ++from) numbers[3 * c + from] = order[c] == from ? 1.0f : 0.0f;
  }

  ORBBEC_HD void add_operation(Operation operation, double magnitude) {
    switch (operation) {
      case Operation::kBrightness:
        return add_line(1.0 + magnitude, false, 0);
      case Operation::kColor:
        return add_line(1.0 + magnitude, true, 0);
      case Operation::kContrast:
        return add_number(StepCode::kContrast, 1.0 + magnitude);
      case Operation::kPosterize:
        return add_number(StepCode::kPosterize, magnitude);
      case Operation::kSolarize:
        return add_number(StepCode::kSolarize, magnitude);
      case Operation::kInvert:
        return add_inversion();
      case Operation::kSolarizeAdd:
        return add_below(128.0 / 255.0, magnitude);
      default:
        return;
    }
  }

 private:
  ORBBEC_HD void add_inversion() {
    float* const numbers = add(StepCode::kMatrix);
    for (int i = 0; i < 9; ++i) numbers[i] = i % 4 == 0 ? -1.0f : -0.0f;
    for (int i = 9; i < 12; ++i) numbers[i] = 1.0f;
  }

  float* const rows_;
  const int most_;
  double& count_;
};

}  // namespace orbbec
