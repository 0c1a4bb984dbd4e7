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

// The same bits for colors from 0 to 1 and shifts from -1 to 1, none of them NaN, in fewer
// operations: one of `ahead` and `behind` is the lowest color, whose quotient is 1; what is clamped
// or excluded above is in range; where two sectors meet, their colors are equal, so that positions
// rounded to there do not matter.
ORBBEC_HD void shift_hue_in_range(const float (&rgb)[3], float shift, float (&out)[3]) {
  const float more = fmaxf(rgb[0], rgb[1]), less = fminf(rgb[0], rgb[1]);
  const float high = fmaxf(more, rgb[2]), low = fminf(less, rgb[2]);
  const float middle = fmaxf(less, fminf(more, rgb[2]));
  const float range = high - low;
  const bool is_gray = high == low;  // of any hue
  const float saturation = range / (is_gray ? 1.0f : high);
  const float below = (high - middle) / (is_gray ? 1.0f : range);
  const bool red = high == rgb[0], green = high == rgb[1];
  const float ahead = red ? rgb[2] : green ? rgb[0] : rgb[1];
  const float start = red ? 0.0f : green ? 2.0f : 4.0f;
  const float sixths = ahead == low ? (1.0f + start) - below : (below + start) - 1.0f;
  const float circle = sixths * (1.0f / 6.0f) + 1.0f;
  const float position = (circle - floorf(circle)) + shift;
  const float at = (position - floorf(position)) * 6.0f;
  const int sector = static_cast<int>(at);
  const float fraction = saturation * (at - static_cast<float>(sector)), rest = 1.0f - saturation;
  const float lowest = rest * high;
  const float between = (sector % 2 != 0 ? 1.0f - fraction : fraction + rest) * high;
  const float from_cyan = fabsf(at - 3.0f), from_blue = fabsf(at - 4.0f);
  out[0] = from_cyan >= 2 ? high : from_cyan <= 1 ? lowest : between;
  out[1] = at >= 4 ? lowest : (at >= 1) & (at <= 3) ? high : between;
  out[2] = from_blue >= 2 ? lowest : from_blue <= 1 ? high : between;
}

}  // namespace orbbec
