// adjust_hue: to HSV, a turn of the hue, and back, in floats from 0 to 1. Included by adjust.h.
#pragma once

#include "../core/hue.h"
#include "maps.h"

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
    turn_hue(rgb, static_cast<float>(turn), turned);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<int>(turned[c] * kLevels);
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&out)[3], InVector<true>) const {
    turn_hue(in, static_cast<V>(turn), out);
  }
};

}  // namespace orbbec
