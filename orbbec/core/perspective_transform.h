// The source position of an output pixel under a 3x3 output-to-source matrix. Included by
// warpaffine/perspective/ and augment/.
#pragma once

#include "warp.h"

namespace orbbec {

template <class F>
struct PerspectiveTransform {
  using Number = F;
  static constexpr int kNumbers = 9;

  const F* matrices;  // [N, 3, 3]
  int64_t stride;
  int width, height;  // of the output

  explicit PerspectiveTransform(const WarpArguments& a)
      : matrices(static_cast<const F*>(a.transform)),
        stride(a.transform_stride),
        width(a.output.width),
        height(a.output.height) {}

  // This transform for image n alone, whose numbers it keeps in `registers`: in registers of a
  // thread.
  ORBBEC_HD PerspectiveTransform in_registers(int64_t n, F (&registers)[kNumbers + 1]) const {
    for (int i = 0; i < kNumbers; ++i) registers[i] = matrices[n * stride + i];
    PerspectiveTransform transform = *this;
    transform.matrices = registers;
    transform.stride = 0;
    return transform;
  }

  ORBBEC_HD static F fused_row(const F* m, F x, F y, bool in_block) {
    return in_block ? fused_multiply_add(m[0], x, y * m[1] + m[2])
                    : fused_multiply_add(x, m[0], y * m[1]) + m[2];
  }

  // Affine matrices need no division.
  ORBBEC_HD static bool is_affine(const F* m) { return m[6] == 0 && m[7] == 0 && m[8] == 1; }

  // Positions for nearest and linear.
  ORBBEC_HD Point<F> fused(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const bool in_block = x < (width & -kRowBlock);
    return in_block ? fused_at<true>(m, F(x), F(y)) : fused_at<false>(m, F(x), F(y));
  }
  template <bool kInBlock>
  ORBBEC_HD static Point<F> fused_at(const F* m, F x, F y) {
    const F at_x = fused_row(m, x, y, kInBlock), at_y = fused_row(m + 3, x, y, kInBlock);
    const F w = fused_row(m + 6, x, y, kInBlock);
    if (w == F(1)) return {at_x, at_y};  // as of affine matrices
    return {at_x / w, at_y / w};
  }

  // The same for a group of pixels of a whole block, the first at x.
  template <class Simd>
  ORBBEC_HD static typename Simd::Float group_row(const F* m, typename Simd::Float columns, F y) {
    return Simd::fused_multiply_add(Simd::all_lanes(m[0]), columns,
                                    Simd::all_lanes(y * m[1] + m[2]));
  }
  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> fused_group(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const auto columns = Simd::to_float(Simd::lane_numbers() + x);
    const auto at_x = group_row<Simd>(m, columns, F(y)),
               at_y = group_row<Simd>(m + 3, columns, F(y));
    if (is_affine(m)) return {at_x, at_y};
    const auto w = group_row<Simd>(m + 6, columns, F(y));
    return {at_x / w, at_y / w};
  }

  // Whether source rows depend on output rows alone, and source columns on output columns.
  ORBBEC_HD bool is_axis_aligned(int64_t n) const {
    const F* m = matrices + n * stride;
    return is_affine(m) && m[1] == 0 && m[3] == 0;
  }

  // Positions for cubic: the row's terms in F, the division in double.
  ORBBEC_HD Point<F> unfused(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const F row_x = F(y) * m[1] + m[2], row_y = F(y) * m[4] + m[5], row_w = F(y) * m[7] + m[8];
    const double column = x;
    const double scale = 1.0 / (static_cast<double>(row_w) + static_cast<double>(m[6]) * column);
    return {
        static_cast<F>((static_cast<double>(row_x) + static_cast<double>(m[0]) * column) * scale),
        static_cast<F>((static_cast<double>(row_y) + static_cast<double>(m[3]) * column) * scale)};
  }

  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> unfused_group(int64_t n, int y, int x) const {
    using Float = typename Simd::Float;
    typedef double Double __attribute__((vector_size(2 * sizeof(Float))));
    const F* m = matrices + n * stride;
    const Double columns = __builtin_convertvector(Simd::lane_numbers() + x, Double);
    const auto row = [&](const F* r) {
      return double(F(y) * r[1] + r[2]) + double(r[0]) * columns;
    };
    const Double scale = 1.0 / row(m + 6);
    return {__builtin_convertvector(row(m) * scale, Float),
            __builtin_convertvector(row(m + 3) * scale, Float)};
  }

  // Adds the gradient of the matrix for a pixel whose source position has gradient (dx, dy).
  ORBBEC_HD void add_gradient(int64_t n, int y, int x, double dx, double dy, double* numbers,
                              double*) const {
    const F* m = matrices + n * stride;
    const double w = m[6] * double(x) + m[7] * double(y) + m[8];
    if (w == 0) return;
    const double at_x = (m[0] * double(x) + m[1] * double(y) + m[2]) / w;
    const double at_y = (m[3] * double(x) + m[4] * double(y) + m[5]) / w;
    const double rows[3] = {dx / w, dy / w, -(dx * at_x + dy * at_y) / w};
    for (int i = 0; i < 3; ++i) {
      numbers[3 * i] += rows[i] * x;
      numbers[3 * i + 1] += rows[i] * y;
      numbers[3 * i + 2] += rows[i];
    }
  }

  // OpenCV 4 restarts at the first column of each block of the output; a zero denominator reads
  // pixel (0, 0).
  ORBBEC_HD FixedPoint scaled(int64_t n, int y, int x, double unit) const {
    const F* m = matrices + n * stride;
    const int block_height = height < 16 ? height : 16;
    const int block_width = 1024 / block_height < width ? 1024 / block_height : width;
    const int first = x / block_width * block_width;
    const double at_first = first, row = y, step = x - first;
    const double w = m[6] * at_first + m[7] * row + m[8] + m[6] * step;
    const double scale = w != 0.0 ? unit / w : 0.0;
    const double at_x = (m[0] * at_first + m[1] * row + m[2] + m[0] * step) * scale;
    const double at_y = (m[3] * at_first + m[4] * row + m[5] + m[3] * step) * scale;
    return {round_to_int(clamp_to_int_range(at_x)), round_to_int(clamp_to_int_range(at_y)), 0, 0};
  }

  ORBBEC_HD static double clamp_to_int_range(double value) {
    return value < -2147483648.0 ? -2147483648.0 : value > 2147483647.0 ? 2147483647.0 : value;
  }

  ORBBEC_HD FixedPoint fixed_nearest(int64_t n, int y, int x) const {
    const FixedPoint at = scaled(n, y, x, 1.0);
    return {saturate_int16(at.x), saturate_int16(at.y), 0, 0};
  }

  ORBBEC_HD FixedPoint fixed(int64_t n, int y, int x) const {
    const FixedPoint at = scaled(n, y, x, 32.0);
    return {saturate_int16(at.x >> 5), saturate_int16(at.y >> 5), at.x & 31, at.y & 31};
  }
};

}  // namespace orbbec
