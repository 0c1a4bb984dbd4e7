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

  ORBBEC_HD static int scaled_byte(int byte, const float (&line)[2]) {
    const float scaled = fused_multiply_add(static_cast<float>(byte), line[0], line[1]);
    return static_cast<int>(clamp_to_range(scaled, 255.0f));
  }

  // Within a circle of 180 half degrees.
  ORBBEC_HD int shifted(int hue) const {
    const float sum = static_cast<float>(hue) + hue_shift;
    const float wrapped = choose(sum < 0, sum + 180, choose(sum >= 180, sum - 180, sum));
    return static_cast<int>(clamp_to_range(wrapped, 180.0f));
  }

  ORBBEC_HD void operator()(float (&rgb)[3]) const {
    int bytes[3], hsv[3];
    for (int c = 0; c < 3; ++c)
      bytes[c] = round_in_range(clamp_to_range(rgb[c] * per_level, 255.0f));
    hsv_of_bytes(bytes, hsv, ComputedHsvFactors{});
    hsv[0] = shifted(hsv[0]);
    hsv[1] = choose(hsv[1] == 0, 0, scaled_byte(hsv[1], saturation));  // gray stays gray
    hsv[2] = scaled_byte(hsv[2], value);
    float colors[3];
    hsv_bytes_to_rgb(hsv, colors);
    for (int c = 0; c < 3; ++c)
      rgb[c] = static_cast<float>(static_cast<int>(clamp_to_range(colors[c], 255.0f))) * level;
  }
};

}  // namespace orbbec
