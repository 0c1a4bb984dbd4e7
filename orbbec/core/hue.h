// Hue shifts, in floats from 0 to 1, with torchvision's formula and the arithmetic of its vectors.
// Included by color/ and augment/.
#pragma once

#include "scalar.h"

namespace orbbec {

// Which of four values each color takes in a hue sector: the highest, the lowest, the falling or
// the rising one.
template <class V>
ORBBEC_HD void sector_colors(int sector, V highest, V lowest, V falling, V rising, V (&rgb)[3]) {
  const bool middle = sector == 2 || sector == 3, last = sector == 4 || sector == 5;
  rgb[0] =
      choose(middle, lowest, choose(sector == 1, falling, choose(sector == 4, rising, highest)));
  rgb[1] = choose(last, lowest, choose(sector == 3, falling, choose(sector == 0, rising, highest)));
  rgb[2] = choose(middle || last,
                  choose(sector == 2, rising, choose(sector == 5, falling, highest)), lowest);
}

template <class V>
ORBBEC_HD V from_0_to_1(V value) {
  return choose(value < 0, V(0), choose(value > 1, V(1), value));
}

template <class V>
ORBBEC_HD void hue_to_rgb(V hue, V saturation, V value, V (&out)[3]) {
  const V sixths = hue * V(6);
  const V inside =
      choose((sixths >= 0) & (sixths <= 6), sixths, V(0));  // excludes NaN and infinity
  const int sector = static_cast<int>(inside);
  const V fraction = saturation * (inside - static_cast<V>(sector)), rest = V(1) - saturation;
  const V falling = from_0_to_1((V(1) - fraction) * value);
  const V rising = from_0_to_1((fraction + rest) * value);
  sector_colors(choose(sector == 6, 0, sector), value, from_0_to_1(rest * value), falling, rising,
                out);
}

// `shift` is a fraction of the circle, from -0.5 to 0.5.
template <class V>
ORBBEC_HD void shift_hue(const V (&rgb)[3], V shift, V (&out)[3]) {
  const V high = larger(rgb[0], larger(rgb[1], rgb[2]));
  const V low = smaller(rgb[0], smaller(rgb[1], rgb[2]));
  const V range = high - low, divisor = choose(high == low, V(1), range);
  const V saturation = range / choose(high == low, V(1), high);
  // Sixths of the circle: the highest channel decides, then how far the others lie below it.
  const bool red = high == rgb[0], green = high == rgb[1];
  const V ahead = choose(red, rgb[2], choose(green, rgb[0], rgb[1]));
  const V behind = choose(red, rgb[1], choose(green, rgb[2], rgb[0]));
  const V start = choose(red, V(0), choose(green, V(2), V(4)));
  const V sixths = ((high - ahead) / divisor + start) - (high - behind) / divisor;
  const V circle = sixths * V(1.0 / 6.0) + V(1);
  V hue = choose(circle >= 1, circle - V(1), circle) + shift;
  hue = choose(hue >= 1, hue - V(1), choose(hue < 0, hue + V(1), hue));
  hue_to_rgb(hue, saturation, high, out);
}

}  // namespace orbbec
