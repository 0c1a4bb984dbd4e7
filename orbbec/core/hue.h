// Turning the hue of a colour, in floats from 0 to 1: torchvision's formula, as its vectors compute
// it. Included by color/ and augment/.
#pragma once

#include "scalar.h"

namespace orbbec {

// Which of four values each colour gets in a sector of the hue: the highest, the lowest, the
// falling, the rising one.
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
  const V inside = choose((sixths >= 0) & (sixths <= 6), sixths, V(0));  // not so: NaN, infinity
  const int sector = static_cast<int>(inside);
  const V part = saturation * (inside - static_cast<V>(sector)), rest = V(1) - saturation;
  const V falling = from_0_to_1((V(1) - part) * value);
  const V rising = from_0_to_1((part + rest) * value);
  sector_colors(choose(sector == 6, 0, sector), value, from_0_to_1(rest * value), falling, rising,
                out);
}

// `turn` is a part of the circle, from -0.5 to 0.5.
template <class V>
ORBBEC_HD void turn_hue(const V (&rgb)[3], V turn, V (&out)[3]) {
  const V high = larger(rgb[0], larger(rgb[1], rgb[2]));
  const V low = smaller(rgb[0], smaller(rgb[1], rgb[2]));
  const V range = high - low, divisor = choose(high == low, V(1), range);
  const V saturation = range / choose(high == low, V(1), high);
  // Sixths of the circle: from the highest channel on, by how far the others lie below it.
  const bool red = high == rgb[0], green = high == rgb[1];
  const V ahead = choose(red, rgb[2], choose(green, rgb[0], rgb[1]));
  const V behind = choose(red, rgb[1], choose(green, rgb[2], rgb[0]));
  const V start = choose(red, V(0), choose(green, V(2), V(4)));
  const V sixths = ((high - ahead) / divisor + start) - (high - behind) / divisor;
  const V circle = sixths * V(1.0 / 6.0) + V(1);
  V hue = choose(circle >= 1, circle - V(1), circle) + turn;
  hue = choose(hue >= 1, hue - V(1), choose(hue < 0, hue + V(1), hue));
  hue_to_rgb(hue, saturation, high, out);
}

}  // namespace orbbec
