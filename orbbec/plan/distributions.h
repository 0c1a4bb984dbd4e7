// What rules draw by a distribution: choices and orders; weights of the Beta and Dirichlet
// distributions, and the box of a CutMix, for mixes; holes, and areas of crops with aspect ratios,
// drawn until one fits. Included by geometry.h.
#pragma once

#include "../core/elementary.h"
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

struct AreaRange {
  double scale[2], ratio[2];  // of the area relative to the image's; of the sides
  double log_ratio[2];
  bool transposed;  // ratio is height / width, and both sides are smaller than the image's

  ORBBEC_HD AreaRange(const double* numbers, bool transposed) : transposed(transposed) {
    for (int i = 0; i < 2; ++i) {
      scale[i] = numbers[i];
      ratio[i] = numbers[2 + i];
      log_ratio[i] = numbers[4 + i];
    }
  }
};

struct Area {
  bool fits;
  double height, width, top, left;  // whole numbers, in pixels
};

// A rectangle to fill, in whole pixels.
struct Hole {
  double left, top, right, bottom;
};

// From one whole number to another; `last` at most `most`.
ORBBEC_HD double draw_whole(double first, double last, double most, PhiloxStream& stream) {
  const double low = first < most ? first : most, high = last < most ? last : most;
  return low + floor(double{stream.uniform()} * (high - low + 1));
}

// numbers: the ranges of height and width, as fractions of the image or in pixels; whether in
// pixels.
ORBBEC_HD_CALLED Hole draw_hole(const double* numbers, double rows, double columns,
                                PhiloxStream& stream) {
  const double sides[2] = {rows, columns};
  double start[2], end[2];
  for (int i = 0; i < 2; ++i) {
    const double low = numbers[2 * i], high = numbers[2 * i + 1];
    const double length = numbers[4] != 0
                              ? draw_whole(low, high, sides[i], stream)
                              : floor(sides[i] * (low + double{stream.uniform()} * (high - low)));
    start[i] = draw_whole(0, sides[i] - length, sides[i], stream);
    end[i] = start[i] + length;
  }
  return {start[1], start[0], end[1], end[0]};
}

// numbers: row, rows, column and columns of a cell of a grid, the hole's fraction of its sides,
// whether its position in the cell is random.
ORBBEC_HD_CALLED Hole draw_hole_of_cell(const double* numbers, double rows, double columns,
                                        PhiloxStream& stream) {
  const double sides[2] = {rows, columns};
  double start[2], end[2];
  for (int i = 0; i < 2; ++i) {
    const double index = numbers[2 * i], count = numbers[2 * i + 1];
    const double first = floor(index * sides[i] / count);
    const double length = floor((index + 1) * sides[i] / count) - first;
    const double part = floor(length * numbers[4]), least = part < 1 ? 1 : part;
    const double hole = least < length ? least : length < 1 ? 0 : length - 1;
    const double offset = numbers[5] != 0 ? draw_whole(0, length - hole, length, stream) : 0;
    start[i] = first + offset, end[i] = first + offset + hole;
  }
  return {start[1], start[0], end[1], end[0]};
}

constexpr int kAreaTries = 10;

// Draws 4 numbers per try: area, ratio, vertical and horizontal position.
ORBBEC_HD_CALLED Area draw_area(const AreaRange& range, double rows, double columns,
                                PhiloxStream& stream) {
  for (int i = 0; i < kAreaTries; ++i) {
    const double fraction =
        range.scale[0] + double{stream.uniform()} * (range.scale[1] - range.scale[0]);
    const double area = rows * columns * fraction;
    const double exponent =
        range.log_ratio[0] + double{stream.uniform()} * (range.log_ratio[1] - range.log_ratio[0]);
    const double ratio = exponential(exponent);
    const double of_less = rint(sqrt(area / ratio)), of_more = rint(sqrt(area * ratio));
    const double height = range.transposed ? of_more : of_less;
    const double width = range.transposed ? of_less : of_more;
    const double y = double{stream.uniform()}, x = double{stream.uniform()};
    const bool fits = range.transposed
                          ? height < rows && width < columns
                          : height > 0 && width > 0 && height <= rows && width <= columns;
    if (!fits) continue;
    return {true, height, width, floor(y * (rows - height + 1)), floor(x * (columns - width + 1))};
  }
  return {};
}

}  // namespace orbbec
