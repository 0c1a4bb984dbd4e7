// A faster `power` for loops on the CPU that need a float. Included by augment/steps/gamma.h.
#pragma once

#include "power.h"

namespace orbbec {

// a * b + c; kFused: rounded once, which takes long where a CPU has no instruction for it.
template <bool kFused>
ORBBEC_HD double multiply_add(double a, double b, double c) {
  if constexpr (kFused) {
    return fused_multiply_add(a, b, c);
  } else {
    return a * b + c;
  }
}

// c[kFirst] + c[kFirst + 1] x + c[kFirst + 2] x^2 + ..., by Horner.
template <bool kFused, int kFirst, int kCount>
ORBBEC_HD double polynomial(const double (&c)[kCount], double x) {
  if constexpr (kFirst == kCount - 1) {
    return c[kFirst];
  } else {
    return multiply_add<kFused>(polynomial<kFused, kFirst + 1>(c, x), x, c[kFirst]);
  }
}

// `power` of a base from 0 to 1, as a float, by shorter series: minimax polynomials with relative
// errors of 2^-45 (logarithm) and 2^-40 (exponential). Returns false where they may round otherwise
// than `power`: about once in 10,000 random numbers, and for bases and exponents out of range.
template <bool kFused>
ORBBEC_HD bool rounded_power(float base, float exponent, float& result) {
  // Of log2((1 + s) / (1 - s)) / s, in s^2.
  constexpr double kLogarithm[] = {0x1.71547652b8250p+1, 0x1.ec709dc53dd6ap-1,
                                   0x1.2776c291b89acp-1, 0x1.a61a2feb6e67dp-2,
                                   0x1.47952a4ba9317p-2, 0x1.21b33f019d4f7p-2};
  // Of 2^r for |r| <= 1 / 2.
  constexpr double kExponential[] = {
      0x1.ffffffffff7a3p-1,  0x1.62e42fef8615ep-1,  0x1.ebfbdff9319e1p-3,
      0x1.c6b08dd46d38fp-5,  0x1.3b2ab5c529311p-7,  0x1.5d87483855455p-10,
      0x1.430acca32fd76p-13, 0x1.00dad250bededp-16, 0x1.61afced541895p-20};
  constexpr double kError = 0x1p-38, kRound = 0x1.8p52;  // see ExponentialRange
  constexpr float kMinBase = 0x1p-126f, kMaxExponent = 8;
  const float normal = choose(base >= kMinBase, base, kMinBase);
  // The mantissa in [1/sqrt(2), sqrt(2)], and its exponent.
  const int bits = same_bits<int32_t>(normal), shifted = bits - 0x3f3504f3;
  const double m = static_cast<double>(same_bits<float>(bits - (shifted & ~0x7fffff)));
  const double s = (m - 1) / (m + 1);
  const double logarithm = multiply_add<kFused>(s, polynomial<kFused, 0>(kLogarithm, s * s),
                                                static_cast<double>(shifted >> 23));
  const double scaled = static_cast<double>(exponent) * logarithm, rounded = scaled + kRound;
  const double mantissa = polynomial<kFused, 0>(kExponential, scaled - (rounded - kRound));
  const double raised =
      same_bits<double>(same_bits<uint64_t>(mantissa) + (same_bits<uint64_t>(rounded) << 52));
  const float low = static_cast<float>(raised * (1 - kError));
  const float high = static_cast<float>(raised * (1 + kError));
  result = choose(base == 0, 0.0f, low);
  const bool covers = (exponent > 0) & (exponent <= kMaxExponent);
  return covers & ((base == 0) | ((base >= kMinBase) & (base <= 1) & (low == high)));
}

}  // namespace orbbec
