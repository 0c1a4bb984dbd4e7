// adjust_hue: to HSV, a hue shift, and back, in floats from 0 to 1. Included by adjust.h.
#pragma once

#include "../../core/hue.h"
#include "../pointwise.h"

namespace orbbec {

template <class F>
struct ShiftHue {
  F shift;  // fraction of the circle, from -0.5 to 0.5

  ORBBEC_HD explicit ShiftHue(double factor) : shift(static_cast<F>(factor)) {}

  ORBBEC_HD void operator()(const int (&in)[3], int (&out)[3], InVector<true>) const {
    constexpr float kPerByte = 1.0f / 255.0f;
    // Slightly below 256, so that rounding errors of a float near 1 have no effect.
    constexpr float kLevels = 255.999f;
    float rgb[3], shifted[3];
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<float>(in[c]) * kPerByte;
    shift_hue(rgb, static_cast<float>(shift), shifted);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<int>(shifted[c] * kLevels);
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&out)[3], InVector<true>) const {
    shift_hue(in, static_cast<V>(shift), out);
  }
};

}  // namespace orbbec
