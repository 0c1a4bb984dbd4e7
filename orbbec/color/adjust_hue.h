// adjust_hue: to HSV, a turn of the hue, and back, in floats from 0 to 1. Included by adjust.h.
#pragma once

#include "convert_hue.h"

namespace orbbec {

template <class F>
struct TurnHue {
  F turn;  // of the circle, from -0.5 to 0.5

  ORBBEC_HD explicit TurnHue(double factor) : turn(static_cast<F>(factor)) {}

  ORBBEC_HD void operator()(const int (&in)[3], int (&out)[3], InVector<true>) const {
    constexpr float kPerByte = 1.0f / 255.0f;
    // Not 256, so that the last bits of a float that stands for 1 do no harm.
    constexpr float kLevels = 255.999f;
    float rgb[3], turned[3];
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<float>(in[c]) * kPerByte;
    turn_hue(rgb, turned);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<int>(turned[c] * kLevels);
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&out)[3], InVector<true>) const {
    turn_hue(in, out);
  }

  template <class V>
  ORBBEC_HD static V from_0_to_1(V value) {
    return choose(value < 0, V(0), choose(value > 1, V(1), value));
  }

  template <class V>
  ORBBEC_HD void turn_hue(const V (&rgb)[3], V (&out)[3]) const {
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
    to_rgb(hue, saturation, high, out);
  }

  template <class V>
  ORBBEC_HD static void to_rgb(V hue, V saturation, V value, V (&out)[3]) {
    const V sixths = hue * V(6);
    const V inside = choose((sixths >= 0) & (sixths <= 6), sixths, V(0));  // not so: NaN, infinity
    const int sector = static_cast<int>(inside);
    const V part = saturation * (inside - static_cast<V>(sector)), rest = V(1) - saturation;
    const V falling = from_0_to_1((V(1) - part) * value);
    const V rising = from_0_to_1((part + rest) * value);
    sector_colors(choose(sector == 6, 0, sector), value, from_0_to_1(rest * value), falling, rising,
                  out);
  }
};

}  // namespace orbbec
