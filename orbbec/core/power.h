// Logarithm and power from + - * / and bits alone, so that a CPU and a CUDA device give the same
// bits. Largest error of power seen for bases from 0 to 1 and exponents from 0 to 10: see
// tests/test_adjust.py. Included by augment, color and core/philox.h.
#pragma once

#include "elementary.h"

namespace orbbec {

// ln x of a normal positive number.
ORBBEC_HD double natural_logarithm(double x) {
  constexpr double kLn2 = 0x1.62e42fefap-1, kLn2Rest = 0x1.cf79abc9e3b3ap-40;
  const int64_t bits = same_bits<int64_t>(x);
  // The mantissa from 1/sqrt(2) to sqrt(2), and its exponent.
  const int64_t shifted = bits - 0x3fe6a09e667f3bcdLL;
  const double exponent = static_cast<double>(shifted >> 52);
  const double m = same_bits<double>(bits - (shifted & ~0xfffffffffffffLL));
  const double s = (m - 1) / (m + 1), square = s * s;
  double series = 0;
  for (int k = 27; k >= 3; k -= 2) series = (series + 1.0 / k) * square;
  return exponent * kLn2 + (2 * s + (2 * s * series + exponent * kLn2Rest));
}

// base^exponent, exponent >= 0. Negative bases and NaN give NaN.
ORBBEC_HD double power(double base, double exponent) {
  if (exponent == 0) return 1;
  if (base == 0) return 0;
  if (!(base > 0)) return NAN;
  if (base < 0x1p-1022) base = 0x1p-1022;
  if (base > 0x1.fffffffffffffp+1023) return base;
  return exponential(exponent * natural_logarithm(base));
}

}  // namespace orbbec
