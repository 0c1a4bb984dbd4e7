// RGB to and from HSV in bytes, with OpenCV's arithmetic: hue in half degrees, below 180. Included
// by color/ and augment/.
#pragma once

#include "hue.h"

namespace orbbec {

// OpenCV's tables, in units of 1/4096: what saturation and hue are multiplied by.
template <class Number>
struct HsvFactors {
  Number per_value, per_range;
};

ORBBEC_HD float nearer_reciprocal(float x, float guess) {
  return fmaf(guess, fmaf(-x, guess, 1.0f), guess);
}

// 1 / x with an error below 2^-22: three Newton steps from a guess that negates the exponent.
ORBBEC_HD float quick_reciprocal(float x) {
  const float guess = float_of(0x7ef311c7u - bits_of(x));
  return nearer_reciprocal(x, nearer_reciprocal(x, nearer_reciprocal(x, guess)));
}

// Adding 2^23 rounds a smaller number to an integer.
ORBBEC_HD float rounded_product(float inverse, float dividend) {
  return fmaf(inverse, dividend, 8388608.0f) - 8388608.0f;
}

ORBBEC_HD HsvFactors<float> rounded_hsv_factors(float inverse, float to_value, float to_range) {
  return {rounded_product(inverse * to_value, 1044480.0f),
          rounded_product(inverse * to_range, 122880.0f)};
}

// One reciprocal, of the product of both divisors, yields each of the tables' entries.
struct ComputedHsvFactors {
  static constexpr float kTiny = 0x1p-30f;  // changes only 0, whose factors are multiplied by 0

  ORBBEC_HD HsvFactors<float> operator()(float v, float range) const {
    const float by_value = v + kTiny, by_range = range + kTiny;
    return rounded_hsv_factors(quick_reciprocal(by_value * by_range), by_range, by_value);
  }
};

// Sums stay below 2^22, which floats hold exactly.
ORBBEC_HD int rounded_4096ths(int count, float per_count) {
  return static_cast<int>(fmaf(static_cast<float>(count), per_count, 2048.0f)) >> 12;
}
ORBBEC_HD int rounded_4096ths(int count, int per_count) { return (count * per_count + 2048) >> 12; }
ORBBEC_HD float rounded_4096ths(float count, float per_count) {
  const float above_0 = fmaf(count, per_count, 2048.0f) + 0x1p20f;
  return static_cast<float>(static_cast<int>(above_0 * 0x1p-12f)) - 256;
}

// Whole is what it computes with: integers, or floats of whole numbers.
template <class Whole, class Number, class FactorsOf>
ORBBEC_HD void hsv_of_bytes(const Number (&rgb)[3], Number (&hsv)[3], const FactorsOf& factors_of) {
  const Whole r = rgb[0], g = rgb[1], b = rgb[2];
  const Whole v = larger(r, larger(g, b)), range = v - smaller(r, smaller(g, b));
  const Whole of_red = g - b, of_green = b - r + 2 * range, of_blue = r - g + 4 * range;
  const Whole shifted = choose(v == r, of_red, choose(v == g, of_green, of_blue));
  const auto factors = factors_of(v, range);
  const Whole hue = rounded_4096ths(shifted, factors.per_range);
  hsv[0] = choose(hue < 0, hue + 180, hue + 0);
  hsv[1] = rounded_4096ths(range, factors.per_value);
  hsv[2] = v;
}

// `h` counts sectors of 60 degrees and is not negative.
template <class V>
ORBBEC_HD void rgb_of_sectors(V h, V s, V v, V (&rgb)[3]) {
  const V whole = static_cast<V>(static_cast<int>(h));
  const V fraction = h - whole;
  const V falling = v * fused_multiply_add(-s, fraction, V(1));
  const V rising = v * fused_multiply_add(-s, V(1) - fraction, V(1));
  const int sector = static_cast<int>(whole) - 6 * static_cast<int>(whole * V(1.0f / 6.0f));
  sector_colors(sector, v, v * (V(1) - s), falling, rising, rgb);
}

// Colors from 0 to 255, before OpenCV's vectors truncate them.
template <class Number>
ORBBEC_HD void hsv_bytes_to_rgb(const Number (&hsv)[3], float (&rgb)[3]) {
  constexpr float kPerByte = 1.0f / 255.0f;
  rgb_of_sectors(static_cast<float>(hsv[0]) * (6.0f / 180), static_cast<float>(hsv[1]) * kPerByte,
                 static_cast<float>(hsv[2]) * kPerByte, rgb);
  for (int c = 0; c < 3; ++c) rgb[c] *= 255.0f;
}

}  // namespace orbbec
