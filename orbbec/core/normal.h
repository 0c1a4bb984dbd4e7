// Standard normals of pairs of random words, by Box and Muller, in float32 from + - * fused
// multiply-add and sqrt alone, so that a CPU, its vectors and a CUDA device give the same bits.
//
// What a float cannot hold of a word is taken in whole numbers first: the distance to the nearest
// power of 2 for the logarithm, the distance to the nearest quarter circle for the angle. Both
// normals are thus exact in the tail, where the first word is small, and near 0, where the
// logarithm is. Polynomials are minimax, from Remez's algorithm. Included by core/philox.h.
#pragma once

#include "scalar.h"

namespace orbbec {

// -2 ln((word + 1) / 2^32): 0 to 44.4.
ORBBEC_HD float squared_radius_of(uint32_t word) {
  constexpr float kTwoLn2 = 0x1.62e430p+0f;
  constexpr int kRootHalf = 0x3f3504f3, kMantissaBits = 23, kBias = 127;  // kRootHalf: bits of it
  // The power of 2 within a factor of sqrt(2) of word + 1; word = 2^32 - 1 gives 2^32.
  const float about = static_cast<float>(word) + 1.0f;
  const int exponent = (static_cast<int>(bits_of(about)) - kRootHalf) >> kMantissaBits;
  const uint32_t power = (1u << (exponent & 31)) - static_cast<uint32_t>(exponent >> 5);
  const float t = static_cast<float>(static_cast<int>(word + 1u - power)) *
                  float_of(static_cast<uint32_t>(kBias - exponent) << kMantissaBits);
  float series = 0x1.45338ap-3f;  // (t - ln(1 + t)) * 2 / t^2
  series = fused_multiply_add(series, t, -0x1.0c6338p-2f);
  series = fused_multiply_add(series, t, 0x1.0e2e38p-2f);
  series = fused_multiply_add(series, t, -0x1.2197c6p-2f);
  series = fused_multiply_add(series, t, 0x1.5437bap-2f);
  series = fused_multiply_add(series, t, -0x1.99b308p-2f);
  series = fused_multiply_add(series, t, 0x1.0003bep-1f);
  series = fused_multiply_add(series, t, -0x1.555524p-1f);
  series = fused_multiply_add(series, t, 0x1.fffffcp-1f);
  const float of_t = fused_multiply_add(t * series, t, -2.0f * t);
  const float halvings = static_cast<float>(32 - exponent);
  return fused_multiply_add(halvings, kTwoLn2, of_t);
}

// cos and sin of word / 2^32 of a circle.
ORBBEC_HD void cosine_sine_of(uint32_t word, float& cosine, float& sine) {
  constexpr float kQuarter = 0x1.921fb6p+0f, kQuarterRest = -0x1.777a5cp-25f;  // pi / 2
  const uint32_t turned = word + (1u << 29);  // the two upper bits: the nearest quarter circle
  const float x = static_cast<float>(static_cast<int>(word << 2)) * 0x1p-32f, square = x * x;
  float s = -0x1.2dc84cp-8f;
  s = fused_multiply_add(s, square, 0x1.466004p-4f);
  s = fused_multiply_add(s, square, -0x1.4abbbep-1f);
  s = fused_multiply_add(s, square, kQuarterRest);
  s = fused_multiply_add(x, kQuarter, x * s);
  float c = 0x1.d9d57ep-11f;
  c = fused_multiply_add(c, square, -0x1.55c5e0p-6f);
  c = fused_multiply_add(c, square, 0x1.03c1dep-2f);
  c = fused_multiply_add(c, square, -0x1.3bd3ccp+0f);
  c = fused_multiply_add(c, square, 1.0f);
  const bool swapped = static_cast<int>(turned << 1) < 0;
  const uint32_t cosine_sign = (turned + 0x40000000u) & 0x80000000u;
  const uint32_t sine_sign = turned & 0x80000000u;
  cosine = float_of(bits_of(choose(swapped, s, c)) ^ cosine_sign);
  sine = float_of(bits_of(choose(swapped, c, s)) ^ sine_sign);
}

// Two independent normals of magnitude at most 6.67; first = 2^32 - 1 gives zeros. Largest error
// seen in 5 million random pairs of words and 6 million with an edge (near 0, 2^32 and all powers
// of 2, and borders of octants), against long double: 3.23 ulp; 97.5 % are within 1.5 ulp.
ORBBEC_HD void normals_of(uint32_t first, uint32_t second, float& a, float& b) {
  const float radius = sqrtf(squared_radius_of(first));
  float cosine, sine;
  cosine_sine_of(second, cosine, sine);
  a = radius * cosine;
  b = radius * sine;
}

}  // namespace orbbec
