// Geometry rules: each changes the size of an image and multiplies a matrix. Included by draw.h.
//
// Matrices map output pixels to source pixels, pixel centers at whole numbers. Resizes use
// half-pixel centers, as cv2.resize and torchvision.
#pragma once

#include "../core/four_points.h"
#include "../core/matrix.h"
#include "distributions.h"

namespace orbbec {

// The part of the image that becomes the output, in pixels; may lie outside the image.
struct Rect {
  double left, top, width, height;
};

struct Matrix3 {
  double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
};

// Products are rounded one by one, in this order.
ORBBEC_HD_CALLED void multiply(double* a, const Matrix3& b) {
  for (int i = 0; i < 3; ++i) {
    const double row[3] = {a[3 * i], a[3 * i + 1], a[3 * i + 2]};
    for (int j = 0; j < 3; ++j)
      a[3 * i + j] = row[0] * b.m[j] + row[1] * b.m[3 + j] + row[2] * b.m[6 + j];
  }
}

// Adds to the positions that a matrix gives.
ORBBEC_HD void shift(Matrix3& matrix, double x, double y) {
  for (int j = 0; j < 3; ++j) {
    matrix.m[j] += x * matrix.m[6 + j];
    matrix.m[3 + j] += y * matrix.m[6 + j];
  }
}

// The geometry of one image, in its registers.
class Geometry {
 public:
  ORBBEC_HD explicit Geometry(double* registers) : r(registers) {}

  ORBBEC_HD double height() const { return r[kHeight]; }
  ORBBEC_HD double width() const { return r[kWidth]; }
  ORBBEC_HD bool is_first() const { return r[kIsFirst] != 0; }
  ORBBEC_HD Rect whole() const { return {0, 0, width(), height()}; }

  // Begins an image, or a pass whose input is the output so far.
  ORBBEC_HD void begin_pass() {
    const Matrix3 identity;
    for (int i = 0; i < 9; ++i) r[kMatrix + i] = identity.m[i];
    set_box(whole());
    r[kIsFirst] = 1;
    r[kIsFlipped] = r[kOffset] = r[kOffset + 1] = r[kColorRows] = 0;
  }
  ORBBEC_HD void begin_image(double height, double width) {
    r[kHeight] = height, r[kWidth] = width;
    const Matrix3 identity;
    for (int i = 0; i < 9; ++i) r[kTotal + i] = identity.m[i];
    begin_pass();
  }

  // A geometry rule that does not run on this image.
  ORBBEC_HD void pass_over() { r[kIsFirst] = 0; }

  ORBBEC_HD void set_box(const Rect& rect) {
    r[kBox] = rect.left, r[kBox + 1] = rect.top;
    r[kBox + 2] = rect.left + rect.width, r[kBox + 3] = rect.top + rect.height;
  }

  ORBBEC_HD void warp(const Matrix3& matrix, double height, double width) {
    warp(r, matrix, height, width);
  }

  // Before the warp whose nearest reads are shifted by (x, y).
  ORBBEC_HD void add_offset(double x, double y) {
    const double* const m = r + kMatrix;
    r[kOffset] += m[0] * x + m[1] * y;
    r[kOffset + 1] += m[3] * x + m[4] * y;
  }

  // That of a resize of `rect`.
  ORBBEC_HD void add_nearest_offset(const Rect& rect, double height, double width,
                                    NearestOffset nearest) {
    if (nearest == NearestOffset::kNone) return;
    add_offset(nearest_offset(rect.width, width, nearest),
               nearest_offset(rect.height, height, nearest));
  }

  ORBBEC_HD void resize(const Rect& rect, double height, double width, NearestOffset nearest) {
    if (is_first()) set_box(rect);
    add_nearest_offset(rect, height, width, nearest);
    warp(resize_matrix(rect, height, width), height, width);
  }

  ORBBEC_HD static Matrix3 resize_matrix(const Rect& rect, double height, double width) {
    Matrix3 matrix;
    const double x = rect.width / width, y = rect.height / height;
    matrix.m[0] = x, matrix.m[4] = y;
    matrix.m[2] = rect.left + 0.5 * x - 0.5, matrix.m[5] = rect.top + 0.5 * y - 0.5;
    return matrix;
  }

  ORBBEC_HD void crop(double left, double top, double height, double width) {
    if (is_first()) set_box({left, top, width, height});
    Matrix3 matrix;
    matrix.m[2] = left, matrix.m[5] = top;
    warp(matrix, height, width);
  }

  // The box without what lies outside the image of this size.
  ORBBEC_HD void clip_box(double height, double width) {
    for (int i = 0; i < 4; ++i)
      r[kBox + i] = smaller(larger(r[kBox + i], 0.0), i % 2 == 0 ? width : height);
  }

  ORBBEC_HD void flip(int axis) {
    Matrix3 matrix;
    matrix.m[axis == 0 ? 0 : 4] = -1;
    matrix.m[axis == 0 ? 2 : 5] = (axis == 0 ? width() : height()) - 1;
    warp(matrix, height(), width());
    if (axis == 0) r[kIsFlipped] = 1 - r[kIsFlipped];
  }

 private:
  // A warp reads the pixel with the nearest center, the even one at a tie. With this offset pixel x
  // reads floor(x * in / out), or floor((x + 0.5) * in / out). Positions that would be whole
  // numbers move halfway to the next, so that rounding to float32 cannot change the pixel.
  ORBBEC_HD_CALLED static double nearest_offset(double source, double output,
                                                NearestOffset nearest) {
    const auto in = static_cast<int64_t>(rint(source)), out = static_cast<int64_t>(output);
    int64_t a = in, b = out;
    while (b != 0) {
      const int64_t rest = a % b;
      a = b, b = rest;
    }
    a = a < 0 ? -a : a;
    const int64_t steps = in / a, ways = out / a;  // positions are multiples of 1 / ways
    const double half = 0.5 / static_cast<double>(ways);
    if (nearest == NearestOffset::kNearest)
      return half - 0.5 * static_cast<double>(in) / static_cast<double>(out);
    return steps % 2 == 0 && ways % 2 == 1 ? half : 0;
  }

  ORBBEC_HD_CALLED static void warp(double* r, const Matrix3& matrix, double height, double width) {
    if (r[kIsFirst] != 0) {
      for (int i = 0; i < 9; ++i) r[kMatrix + i] = matrix.m[i];
    } else {
      multiply(r + kMatrix, matrix);
    }
    multiply(r + kTotal, matrix);
    r[kIsFirst] = 0;
    r[kHeight] = height, r[kWidth] = width;
  }

  double* const r;
};

// a * b / c, rounded down.
ORBBEC_HD double floored_ratio(double a, double b, double c) { return floor(a * b / c); }

ORBBEC_HD double at_least_1(double value) { return larger(value, 1.0); }

// A whole number of pixels; what is too large stays so.
ORBBEC_HD double side_of(double value) { return at_least_1(smaller(floor(value), 0x1p31)); }

// The shorter side becomes `side`; the longer one at most `longest`, or of any length where it is
// 0.
ORBBEC_HD void resize_shorter(Geometry& g, double side, double longest, NearestOffset nearest) {
  const double height = g.height(), width = g.width();
  const double shorter = smaller(height, width), longer = larger(height, width);
  double to_short = side, to_long = floored_ratio(side, longer, shorter);
  if (longest > 0 && to_long > longest) {
    to_short = floored_ratio(longest, to_short, to_long);
    to_long = longest;
  }
  const bool upright = width <= height;
  g.resize(g.whole(), at_least_1(upright ? to_long : to_short),
           at_least_1(upright ? to_short : to_long), nearest);
}

ORBBEC_HD void resize_longer(Geometry& g, double side, NearestOffset nearest) {
  const double longer = larger(g.height(), g.width());
  g.resize(g.whole(), at_least_1(floored_ratio(side, g.height(), longer)),
           at_least_1(floored_ratio(side, g.width(), longer)), nearest);
}

ORBBEC_HD void resize_scaled(Geometry& g, double factor, NearestOffset nearest) {
  g.resize(g.whole(), at_least_1(floor(g.height() * factor)), at_least_1(floor(g.width() * factor)),
           nearest);
}

// The largest size within height x width that keeps the aspect ratio, rounded half to even.
struct Fit {
  double height, width;

  ORBBEC_HD Fit(const Geometry& g, double to_height, double to_width, bool enlarges) {
    double scale = smaller(to_height / g.height(), to_width / g.width());
    if (!enlarges) scale = smaller(scale, 1.0);
    height = at_least_1(rint(g.height() * scale));
    width = at_least_1(rint(g.width() * scale));
  }
};

// The largest centered region whose ratio is in range.
ORBBEC_HD Rect middle_of(const Geometry& g, const double (&ratio)[2]) {
  const double h = g.height(), w = g.width(), aspect = w / h;
  const double width = aspect > ratio[1] ? rint(h * ratio[1]) : w;
  const double height = aspect < ratio[0] ? rint(w / ratio[0]) : h;
  return {floor((w - width) / 2), floor((h - height) / 2), width, height};
}

ORBBEC_HD void resize_area(Geometry& g, const double* numbers, PhiloxStream& stream) {
  const AreaRange range(numbers + 2, false);
  const Area area = draw_area(range, g.height(), g.width(), stream);
  const Rect rect =
      area.fits ? Rect{area.left, area.top, area.width, area.height} : middle_of(g, range.ratio);
  g.resize(rect, numbers[0], numbers[1], static_cast<NearestOffset>(static_cast<int>(numbers[8])));
}

// 0 to n - 1.
ORBBEC_HD double draw_below(PhiloxStream& stream, double n) {
  return floor(double{stream.uniform()} * n);
}

// The smallest image that a crop takes, where an image is smaller.
struct Shortage {
  double height = 0, width = 0, least_height = 0, least_width = 0;
  bool is_short = false;
};

ORBBEC_HD Shortage crop_random(Geometry& g, const double* p, PhiloxStream& stream) {
  const double height = p[0], width = p[1];
  double rows = g.height() + p[3] + p[5], columns = g.width() + p[2] + p[4];
  double above = p[3], before = p[2];
  if (p[6] != 0) {
    const double lacking_rows = larger(height - rows, 0.0);
    const double lacking_columns = larger(width - columns, 0.0);
    rows += 2 * lacking_rows, columns += 2 * lacking_columns;
    above += lacking_rows, before += lacking_columns;
  }
  if (rows < height || columns < width) return {rows, columns, height, width, true};
  const double y = draw_below(stream, rows - height + 1);
  const double x = draw_below(stream, columns - width + 1);
  g.crop(x - before, y - above, height, width);
  return {};
}

// Smaller images are padded; an odd row or column of padding goes below or to the right.
ORBBEC_HD void crop_center(Geometry& g, double height, double width) {
  const double h = g.height(), w = g.width(), over_x = w - width, over_y = h - height;
  const bool is_first = g.is_first();
  g.crop(over_x < 0 ? 0 - floor(-over_x / 2) : rint(over_x / 2),
         over_y < 0 ? 0 - floor(-over_y / 2) : rint(over_y / 2), height, width);
  if (is_first) g.clip_box(h, w);
}

ORBBEC_HD Shortage crop_fixed(Geometry& g, double top, double left, double height, double width,
                              bool pads) {
  const double rows = g.height(), columns = g.width();
  const bool is_short = rows < top + height || columns < left + width;
  if (is_short && !pads) return {rows, columns, top + height, left + width, true};
  const bool is_first = g.is_first();
  g.crop(left, top, height, width);
  if (pads && is_first) g.clip_box(rows, columns);
  return {};
}

// The fractions of the padding that go above and to the left; or random ones.
ORBBEC_HD void pad_to(Geometry& g, const double* p, PhiloxStream& stream) {
  const double height = larger(g.height(), p[0]), width = larger(g.width(), p[1]);
  const double lacking_rows = height - g.height(), lacking_columns = width - g.width();
  const bool draws = p[4] != 0;
  const double above = draws ? draw_below(stream, lacking_rows + 1) : floor(lacking_rows * p[2]);
  const double before =
      draws ? draw_below(stream, lacking_columns + 1) : floor(lacking_columns * p[3]);
  g.crop(-before, -above, height, width);
}

// box: left, top, width, height; may lie outside the image.
ORBBEC_HD void crop_to(Geometry& g, const double* box) { g.crop(box[0], box[1], box[3], box[2]); }

ORBBEC_HD void zoom_out(Geometry& g, double factor, double x, double y) {
  const double height = floor(g.height() * factor), width = floor(g.width() * factor);
  g.crop(0 - floor((width - g.width()) * x), 0 - floor((height - g.height()) * y), height, width);
}

ORBBEC_HD_CALLED void letterbox(Geometry g, double height, double width, bool enlarges,
                                NearestOffset nearest) {
  const Fit inner(g, height, width, enlarges);
  const double above = floor((height - inner.height) / 2),
               before = floor((width - inner.width) / 2);
  const double rows = g.height() / inner.height, columns = g.width() / inner.width;
  const Rect rect{-before * columns, -above * rows, width * columns, height * rows};
  g.add_nearest_offset({0, 0, g.width(), g.height()}, inner.height, inner.width, nearest);
  g.resize(rect, height, width, NearestOffset::kNone);
}

// Of a RandomAffine: degrees, x and y of the shift in pixels, scales along x and y, shears in
// degrees.
struct AffineNumbers {
  double angle, shift[2], scale[2], shear[2];
};

ORBBEC_HD_CALLED void sine_cosine_of(double degrees, double& sine, double& cosine) {
  sine_cosine_degrees(degrees, sine, cosine);
}

// The inverse of: scale, shear, rotate clockwise about `center` (from the middle of the image),
// shift. torchvision's _get_inverse_affine_matrix and _affine_grid.
ORBBEC_HD_CALLED Matrix3 affine_matrix(const AffineNumbers& a, const double (&center)[2],
                                       const double (&size)[2], const double (&output)[2]) {
  double sin_turn, cos_turn, sin_less, cos_less, sin_x, cos_x, sin_y, cos_y;
  sine_cosine_of(a.angle, sin_turn, cos_turn);
  sine_cosine_of(a.angle - a.shear[1], sin_less, cos_less);
  sine_cosine_of(a.shear[0], sin_x, cos_x);
  sine_cosine_of(a.shear[1], sin_y, cos_y);
  const double tangent = sin_x / cos_x;
  const double l00 = cos_less / cos_y, l10 = sin_less / cos_y;
  const double l01 = -(l00 * tangent + sin_turn), l11 = cos_turn - l10 * tangent;
  const double linear[4] = {l11 / a.scale[0], -l01 / a.scale[0], -l10 / a.scale[1],
                            l00 / a.scale[1]};
  const double target[2] = {center[0] + a.shift[0], center[1] + a.shift[1]};
  const double middle[2] = {(output[0] - 1) / 2, (output[1] - 1) / 2};
  Matrix3 matrix;
  for (int i = 0; i < 2; ++i) {
    const double* const row = linear + 2 * i;
    matrix.m[3 * i] = row[0], matrix.m[3 * i + 1] = row[1];
    const double shift = center[i] - (row[0] * target[0] + row[1] * target[1]);
    matrix.m[3 * i + 2] = shift + (size[i] - 1) / 2 - (row[0] * middle[0] + row[1] * middle[1]);
  }
  return matrix;
}

// The size (x, y) that holds the whole image; torchvision's _compute_affine_output_size. A rotation
// by a right angle is exact; that function exceeds it by one if width + height is odd.
ORBBEC_HD void expanded_size(const Matrix3& matrix, const double (&size)[2], double (&output)[2]) {
  const double half[2] = {size[0] * 0.5, size[1] * 0.5};
  for (int i = 0; i < 2; ++i) {
    const double* const row = matrix.m + 3 * i;
    if (row[0] * row[1] == 0 && fabs(row[0] + row[1]) == 1) {
      output[i] = row[0] == 0 ? size[1] : size[0];
      continue;
    }
    const double middle = row[0] * ((size[0] - 1) / 2) + row[1] * ((size[1] - 1) / 2);
    const double shift = rint((row[2] - (size[i] - 1) / 2 + middle) * 1e9) / 1e9;
    double low = 0, high = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const double x = corner < 2 ? -half[0] : half[0];
      const double y = corner % 2 == 0 ? -half[1] : half[1];
      const double at = row[0] * x + row[1] * y + shift;
      low = corner == 0 ? at : smaller(low, at);
      high = corner == 0 ? at : larger(high, at);
    }
    const double end = ceil(trunc((high + half[i]) * 1e4) * 1e-4);
    output[i] = end - floor(trunc((low + half[i]) * 1e4) * 1e-4);
  }
}

// The size (x, y) that holds the whole image, as Albumentations has it, from corners between pixel
// centers; `matrix` then reads from there.
ORBBEC_HD void fit_output(Matrix3& matrix, const double (&size)[2], double (&output)[2]) {
  double forward[6];
  PrepareMatrix<double, double>::invert_affine(matrix.m, forward);
  double first[2];
  for (int i = 0; i < 2; ++i) {
    const double* const row = forward + 3 * i;
    double low = 0, high = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const double x = corner < 2 ? 0 : size[0], y = corner % 2 == 0 ? 0 : size[1];
      const double at = rint((row[0] * x + row[1] * y + row[2]) * 1e9) / 1e9;
      low = corner == 0 ? at : smaller(low, at);
      high = corner == 0 ? at : larger(high, at);
    }
    first[i] = floor(low);
    output[i] = ceil(high) - first[i] + 1;
  }
  for (int i = 0; i < 6; i += 3)
    matrix.m[i + 2] += matrix.m[i] * first[0] + matrix.m[i + 1] * first[1];
}

// p: whether there is a center in pixels, x, y; 1: the output has torchvision's size that holds the
// whole image, 2: that of `fit_output`.
ORBBEC_HD_CALLED void affine(Geometry g, const double* numbers, const double* p) {
  const AffineNumbers a{
      numbers[0], {numbers[1], numbers[2]}, {numbers[3], numbers[4]}, {numbers[5], numbers[6]}};
  const double size[2] = {g.width(), g.height()};
  double output[2] = {size[0], size[1]}, center[2] = {0, 0};
  if (p[0] != 0)
    for (int i = 0; i < 2; ++i) center[i] = p[1 + i] - 0.5 * size[i];
  Matrix3 matrix = affine_matrix(a, center, size, output);
  if (p[3] == 2) {
    fit_output(matrix, size, output);
  } else if (p[3] != 0) {
    expanded_size(matrix, size, output);
    matrix = affine_matrix(a, center, size, output);
  }
  g.warp(matrix, output[1], output[0]);
}

// A matrix between pixel corners, as in torchvision, becomes one between pixel centers.
ORBBEC_HD void between_centers(Matrix3& matrix) {
  double* const m = matrix.m;
  for (int j = 0; j < 3; ++j) m[j] -= 0.5 * m[6 + j], m[3 + j] -= 0.5 * m[6 + j];
  for (int i = 0; i < 9; i += 3) m[i + 2] += 0.5 * m[i] + 0.5 * m[i + 1];
}

ORBBEC_HD double determinant(const Matrix3& matrix) {
  const double* const m = matrix.m;
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

// Moves each corner inwards by up to `distortion` of half a side; not where there is no matrix.
ORBBEC_HD_CALLED void perspective(Geometry g, double distortion, PhiloxStream& stream) {
  const double right = g.width() - 1, bottom = g.height() - 1;
  const double near_x = trunc(distortion * floor(g.width() / 2)) + 1;
  const double near_y = trunc(distortion * floor(g.height() / 2)) + 1;
  const FourPoints starts{{0, right, right, 0}, {0, 0, bottom, bottom}};
  FourPoints ends;
  for (int i = 0; i < 4; ++i) {
    ends.x[i] = draw_below(stream, near_x) + (starts.x[i] > 0 ? g.width() - near_x : 0);
    ends.y[i] = draw_below(stream, near_y) + (starts.y[i] > 0 ? g.height() - near_y : 0);
  }
  Matrix3 matrix;
  matrix_between(matrix.m, ends, starts);
  between_centers(matrix);
  g.warp(fabs(determinant(matrix)) > 1e-12 ? matrix : Matrix3{}, g.height(), g.width());
}

}  // namespace orbbec
