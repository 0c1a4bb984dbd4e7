// Changes hue, saturation and value of a color in bytes, by OpenCV's HSV; floats are rounded to 256
// levels. Numbers: hue shift in half degrees, factor and summand of the saturation, factor and
// summand of the value, both in bytes. Results are truncated, as by a table of bytes.
#pragma once

#include "../../core/hsv.h"
#include "step.h"

namespace orbbec {

struct HsvStep : ColorStep {
  static constexpr bool kIsLong = true;
  float hue_shift, saturation[2], value[2], per_level, level;

  ORBBEC_HD HsvStep(const float* numbers, float max_value)
      : hue_shift(numbers[0]),
        saturation{numbers[1], numbers[2]},
        value{numbers[3], numbers[4]},
        per_level(255 / max_value),
        level(max_value / 255) {}

  // Bytes are floats of whole numbers, and bounds are chosen, so that loops are vectorized.
  ORBBEC_HD static float within(float value, float most) {
    const float positive = choose(value > 0, value, 0.0f);
    return choose(positive < most, positive, most);
  }
  ORBBEC_HD static float truncated(float value, float most) {
    return static_cast<float>(static_cast<int>(within(value, most)));
  }
  ORBBEC_HD static float rounded_byte(float value) {
    return within(value, 255.0f) + 8388608.0f - 8388608.0f;
  }
  ORBBEC_HD static float scaled_byte(float byte, const float (&line)[2]) {
    return truncated(fused_multiply_add(byte, line[0], line[1]), 255.0f);
  }

  // Within a circle of 180 half degrees.
  ORBBEC_HD float shifted(float hue) const {
    const float sum = hue + hue_shift;
    return truncated(choose(sum < 0, sum + 180, choose(sum >= 180, sum - 180, sum)), 180.0f);
  }

  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    float bytes[3], hsv[3];
    for (int c = 0; c < 3; ++c) bytes[c] = rounded_byte(rgb[c] * per_level);
    hsv_of_bytes<float>(bytes, hsv, ComputedHsvFactors{});
    hsv[0] = shifted(hsv[0]);
    hsv[1] = choose(hsv[1] == 0, 0.0f, scaled_byte(hsv[1], saturation));  // gray stays gray
    hsv[2] = scaled_byte(hsv[2], value);
    hsv_bytes_to_rgb(hsv, bytes);
    for (int c = 0; c < 3; ++c) rgb[c] = truncated(bytes[c], 255.0f) * level;
  }
};

}  // namespace orbbec
