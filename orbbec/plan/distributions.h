// What rules draw by a distribution: choices and orders; weights of the Beta and Dirichlet
// distributions, and the box of a CutMix, for mixes. Included by draw.h.
#pragma once

#include "../core/philox.h"
#include "../core/power.h"
#include "rules.h"

namespace orbbec {

// A number from 0 to `last`; NaN gives 0.
ORBBEC_HD int index_of(double number, int last) {
  return static_cast<int>(smaller(larger(number, 0.0), static_cast<double>(last)));
}

ORBBEC_HD void filter(double* out, int most, const double* order, int mask) {
  int at = 0;
  for (int i = 0; i < 4; ++i)
    if ((mask >> index_of(order[i], 3) & 1) != 0 && at < most) out[at++] = order[i];
  for (; at < most; ++at) out[at] = 0;
}

ORBBEC_HD void choose_one(double* out, const double* cumulative, int count, double draw) {
  *out = 0;
  for (int i = 0; i < count - 1; ++i) *out += cumulative[i] <= draw ? 1 : 0;
}

// Exponentially distributed, with a mean of 1 / weight; infinite without weight.
ORBBEC_HD float arrival(float uniform, double weight) {
  return static_cast<float>(-natural_logarithm(larger(double{uniform}, 0x1p-25)) / weight);
}

// The indices that sort `count` draws, equal ones in order: in random order, or each next to
// follow with a probability proportional to its weight.
ORBBEC_HD void permute(double* out, int count, const double* weights, PhiloxStream& stream) {
  float draws[kMaxOutputs];
  for (int i = 0; i < count; ++i) {
    const float uniform = stream.uniform();
    const float draw = weights == nullptr ? uniform : arrival(uniform, weights[i]);
    int at = i;
    for (; at > 0 && draws[at - 1] > draw; --at) {
      draws[at] = draws[at - 1];
      out[at] = out[at - 1];
    }
    draws[at] = draw;
    out[at] = i;
  }
}

ORBBEC_HD void sort(double* out, int count) {
  for (int i = 1; i < count; ++i) {
    const double value = out[i];
    int at = i;
    for (; at > 0 && out[at - 1] > value; --at) out[at] = out[at - 1];
    out[at] = value;
  }
}

constexpr int kGammaTries = 16;  // none succeeds with a probability of 10^-20

// A standard normal, by Box and Muller.
ORBBEC_HD_CALLED double draw_normal(PhiloxStream& stream) {
  const double radius = sqrt(-2 * natural_logarithm(1 - double{stream.uniform()}));
  double sine, cosine;
  sine_cosine(6.283185307179586 * double{stream.uniform()}, sine, cosine);
  return radius * cosine;
}

// Number `index` of `count` from the gamma distribution of shape `alpha`, by Marsaglia and Tsang: A
// simple method for generating gamma variables (2000). The stream has the normals of all, then the
// thresholds of all, then the powers of all.
ORBBEC_HD_CALLED double draw_gamma(double alpha, int index, int count, const PhiloxStream& stream) {
  const double shape = alpha >= 1 ? alpha : alpha + 1, d = shape - 1.0 / 3, scale = sqrt(9 * d);
  PhiloxStream normals = stream, thresholds = stream, powers = stream;
  normals.skip(static_cast<uint64_t>(2 * kGammaTries * index));
  thresholds.skip(static_cast<uint64_t>(kGammaTries * (2 * count + index)));
  double v = 0;
  for (int i = 0; i < kGammaTries; ++i) {
    const double x = draw_normal(normals), root = 1 + x / scale;
    const double threshold = 1 - double{thresholds.uniform()};
    v = root * root * root;
    if (v > 0 && natural_logarithm(threshold) < 0.5 * x * x + d - d * v + d * natural_logarithm(v))
      break;
  }
  if (alpha >= 1) return d * v;
  powers.skip(static_cast<uint64_t>(3 * kGammaTries * count + index));
  return d * v * power(1 - double{powers.uniform()}, 1 / alpha);
}

// From the distribution Beta(alpha, alpha).
ORBBEC_HD double draw_beta(double alpha, const PhiloxStream& stream) {
  const double first = draw_gamma(alpha, 0, 2, stream), second = draw_gamma(alpha, 1, 2, stream);
  return first / larger(first + second, 0x1p-1022);
}

// Weights from the symmetric Dirichlet distribution; their sum is 1.
ORBBEC_HD void draw_dirichlet(double* out, int count, double alpha, const PhiloxStream& stream) {
  double total = 0;
  for (int i = 0; i < count; ++i) {
    out[i] = draw_gamma(alpha, i, count, stream);
    total += out[i];
  }
  for (int i = 0; i < count; ++i) out[i] = total > 0 ? out[i] / total : 1.0 / count;
}

// Left, top, right and bottom of a box about a random pixel, without what lies outside the image,
// and the fraction of the area outside the box. The whole box has a fraction 1 - `rest`.
ORBBEC_HD_CALLED void draw_cut(double* out, double rest, const double (&size)[2],
                               PhiloxStream& stream) {
  const double fraction = 0.5 * sqrt(1 - rest);
  for (int i = 0; i < 2; ++i) {
    const double middle = floor(double{stream.uniform()} * size[i]);
    const double half = trunc(fraction * size[i]);
    out[i] = larger(middle - half, 0.0);
    out[2 + i] = smaller(middle + half, size[i]);
  }
  out[4] = 1 - (out[2] - out[0]) * (out[3] - out[1]) / (size[0] * size[1]);
}

}  // namespace orbbec
