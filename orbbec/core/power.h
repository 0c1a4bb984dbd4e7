// Logarithm and power from + - * / and bit operations alone, so that CPU and CUDA give the same
// bits. The largest measured error for bases from 0 to 1 and exponents from 0 to 10 is in
// tests/test_adjust.py. Included by augment and color.
#pragma once

#include "elementary.h"
#include "scalar.h"

namespace orbbec {

// square / kK + square^2 / (kK + 2) + ... to 1 / 27, by Horner.
template <int kK>
ORBBEC_HD double odd_series(double square) {
  if constexpr (kK == 27) {
    return 1.0 / kK * square;
  } else {
    return (odd_series<kK + 2>(square) + 1.0 / kK) * square;
  }
}

// ln x of a normal positive number.
ORBBEC_HD double natural_logarithm(double x) {
  constexpr double kLn2 = 0x1.62e42fefap-1, kLn2Rest = 0x1.cf79abc9e3b3ap-40;
  const int64_t bits = same_bits<int64_t>(x);
  // The mantissa in [1/sqrt(2), sqrt(2)], and its exponent.
  const int64_t shifted = bits - 0x3fe6a09e667f3bcdLL;
  // shifted >> 52 as a double, by bit operations: not every vector unit can convert int64.
  const uint64_t whole = (static_cast<uint64_t>(shifted) + (uint64_t{1024} << 52)) >> 52;
  const double exponent = same_bits<double>(whole | 0x4330000000000000) - (0x1p52 + 1024);
  const double m = same_bits<double>(bits - (shifted & ~0xfffffffffffffLL));
  const double s = (m - 1) / (m + 1), square = s * s;
  const double series = odd_series<3>(square);
  return exponent * kLn2 + (2 * s + (2 * s * series + exponent * kLn2Rest));
}

// base^exponent, exponent >= 0. Negative bases and NaN give NaN.
ORBBEC_HD double power(double base, double exponent) {
  const double normal = choose(base < 0x1p-1022, 0x1p-1022, base);
  const double raised = exponential(exponent * natural_logarithm(normal));
  const double finite = choose(base > 0x1.fffffffffffffp+1023, base, raised);
  const double result = choose(base > 0, finite, choose(base == 0, 0.0, static_cast<double>(NAN)));
  return choose(exponent == 0, 1.0, result);
}

}  // namespace orbbec
