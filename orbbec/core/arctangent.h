// The angle of a point from + - * / and rint alone, so that CPU and CUDA give the same bits.
// Largest error seen: 1.54 ulp, and 0.93 where x is 1 (tests/test_arctangent.py). Included by
// nms/boxes.
#pragma once

#include "power.h"

namespace orbbec {

// A number as the sum of its nearest double and the rest.
struct LongDouble {
  double high, low;
};

// atan(halves / 2), for halves from 0 to 2.
ORBBEC_HD LongDouble arctangent_of_halves(int halves) {
  if (halves == 0) return {0, 0};
  if (halves == 1) return {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56};
  return {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
}

// The direction of (x, y) in radians from -pi to pi, with the special cases of std::atan2.
ORBBEC_HD double arctangent(double y, double x) {
  constexpr double kMax = 0x1.fffffffffffffp+1023;
  constexpr LongDouble kRightAngle{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  if (x != x || y != y) return NAN;
  const bool steep = fabs(y) > fabs(x), left = copysign(1.0, x) < 0;
  double small = steep ? fabs(x) : fabs(y), large = steep ? fabs(y) : fabs(x);
  if (large > kMax) {
    small = small > kMax ? 1 : 0;
    large = 1;
  }
  if (large == 0) large = 1;
  // No product below overflows or loses bits.
  const double scale = large > 0x1p1000 ? 0x1p-4 : large < 0x1p-900 ? 0x1p120 : 1;
  small *= scale;
  large *= scale;
  // small / large = tan(atan(halves / 2) + atan(t)), |t| <= 1/4; the difference is exact.
  const int halves = static_cast<int>(rint(2 * (small / large)));
  const double t = (small - 0.5 * halves * large) / (large + 0.5 * halves * small);
  const LongDouble near = arctangent_of_halves(halves);
  const double rest = near.low + (t + t * odd_series<3>(-(t * t)));
  const double right_angles = steep ? 1 : left ? 2 : 0;
  const double sign = steep == left ? 1 : -1;
  double rounding;
  const double high =
      exact_difference(right_angles * kRightAngle.high, -sign * near.high, rounding);
  const double low = right_angles * kRightAngle.low + sign * rest;
  return copysign(high + (rounding + low), y);
}

}  // namespace orbbec
