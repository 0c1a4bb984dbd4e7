// Numbers of a Poisson distribution, by inversion of one uniform number, in float32 from + - * /
// and sqrt alone, so that CPU and CUDA draw the same. Included by noise/shot_noise.
#pragma once

#include "elementary.h"
#include "normal.h"

namespace orbbec {

// The normal number below which a fraction 0.5 + q of them lies, |q| at most 0.5 - 2^-25. By the
// algorithm AS 241 (PPND7) of Wichura (1988).
ORBBEC_HD float normal_quantile(float q) {
  if (-0.425f <= q && q <= 0.425f) {
    const float r = 0.180625f - q * q;
    const float above =
        ((59.10937472f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f;
    const float below = ((67.1875636f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f;
    return q * above / below;
  }
  const float tail = 0.5f - choose(q < 0, -q, q);
  const float logarithm = 0.5f * squared_radius_of(static_cast<uint32_t>(tail * 0x1p32f) - 1);
  const float r = sqrtf(logarithm) - 1.6f;
  const float above = ((0.17023821103f * r + 1.3067284816f) * r + 2.75681539f) * r + 1.4234372777f;
  const float below = (0.12021132975f * r + 0.7370016425f) * r + 1.0f;
  const float z = above / below;
  return choose(q < 0, -z, z);
}

// From this rate on, quantiles are expanded about those of the normal distribution.
constexpr float kExpandedRate = 32;

// The smallest count whose distribution function is above `uniform`, a multiple of 2^-24 below 1,
// for a rate from 0 to 10^12 and `none`, the probability exponential(-rate) of a count of 0. The
// expansion is that of Cornish and Fisher.
ORBBEC_HD float poisson_quantile(float rate, float none, float uniform) {
  if (rate < kExpandedRate) {
    constexpr float kMaxCount = 96;  // the sum of rounded terms may stay below `uniform`
    float term = none, sum = term, count = 0;
    while (sum <= uniform && count < kMaxCount) {
      count += 1;
      term *= rate / count;
      sum += term;
    }
    return count;
  }
  const float z = normal_quantile((uniform - 0.5f) + 0x1p-25f), deviation = sqrtf(rate);
  const float third = (z * z - 1) * (1.0f / 6), fourth = (z - z * z * z) / (72 * deviation);
  return floorf(rate + (deviation * z + third + fourth + 0.5f));
}

}  // namespace orbbec
