// warp_affine: the source position of an output pixel under a 2x3 output-to-source matrix. Included
// by warpaffine_cpu.cpp, warpaffine_cuda.cu and binding.cpp.
#pragma once

#include <algorithm>
#include <array>

#include "../core/warp.h"

namespace orbbec {

template <class F>
struct AffineTransform {
  using Number = F;
  static constexpr int kNumbers = 6;

  const F* matrices;  // [N, 2, 3]
  int64_t stride;
  int width;  // of the output

  explicit AffineTransform(const WarpArguments& a)
      : matrices(static_cast<const F*>(a.transform)),
        stride(a.transform_stride),
        width(a.output.width) {}

  // This transform for image n alone, whose numbers it keeps in `registers`: in registers of a
  // thread.
  ORBBEC_HD AffineTransform in_registers(int64_t n, F (&registers)[kNumbers + 1]) const {
    for (int i = 0; i < kNumbers; ++i) registers[i] = matrices[n * stride + i];
    AffineTransform transform = *this;
    transform.matrices = registers;
    transform.stride = 0;
    return transform;
  }

  ORBBEC_HD static F fused_row(const F* m, F x, F y, bool in_block) {
    return in_block ? fused_multiply_add(m[0], x, y * m[1] + m[2])
                    : fused_multiply_add(x, m[0], y * m[1]) + m[2];
  }

  // Positions for nearest and linear.
  ORBBEC_HD Point<F> fused(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const bool in_block = x < (width & -kRowBlock);
    return {fused_row(m, F(x), F(y), in_block), fused_row(m + 3, F(x), F(y), in_block)};
  }

  // The same for a group of pixels of a whole block, the first at x.
  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> fused_group(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const auto columns = Simd::to_float(Simd::lane_numbers() + x);
    return {Simd::fused_multiply_add(Simd::all_lanes(m[0]), columns,
                                     Simd::all_lanes(F(y) * m[1] + m[2])),
            Simd::fused_multiply_add(Simd::all_lanes(m[3]), columns,
                                     Simd::all_lanes(F(y) * m[4] + m[5]))};
  }

  // Whether source rows depend on output rows alone, and source columns on output columns.
  ORBBEC_HD bool is_axis_aligned(int64_t n) const {
    const F* m = matrices + n * stride;
    return m[1] == 0 && m[3] == 0;
  }

  // The columns [begin, end) of row y whose positions may be within `reach` pixels of an image; of
  // others, none is. Positions that a sampler may wrap or saturate are not judged.
  std::array<int, 2> columns_near(int64_t n, int y, int reach, int image_height,
                                  int image_width) const {
    constexpr double kFar = 1 << 15;
    const F* m = matrices + n * stride;
    const int sides[2] = {image_width, image_height};
    double begin = 0, end = width;
    for (int i = 0; i < 2; ++i, m += 3) {
      const double first = double(m[1]) * y + m[2], step = m[0], last = first + step * width;
      const double margin = reach + 1;
      if (!(fabs(double(m[1]) * y) < kFar && fabs(first) < kFar && fabs(last) < kFar &&
            sides[i] < kFar))
        return {0, width};
      const double low = -margin - first, high = sides[i] + margin - first;
      if (fabs(step) * width < 1) {
        if (low > 1 || high < -1) return {0, 0};
        continue;
      }
      begin = std::max(begin, std::min(low / step, high / step) - 1);
      end = std::min(end, std::max(low / step, high / step) + 2);
    }
    if (begin >= end) return {0, 0};
    return {static_cast<int>(begin), static_cast<int>(end)};
  }

  // Positions for cubic.
  ORBBEC_HD Point<F> unfused(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    return {(F(y) * m[1] + m[2]) + m[0] * F(x), (F(y) * m[4] + m[5]) + m[3] * F(x)};
  }

  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> unfused_group(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const auto columns = Simd::to_float(Simd::lane_numbers() + x);
    return {(F(y) * m[1] + m[2]) + m[0] * columns, (F(y) * m[4] + m[5]) + m[3] * columns};
  }

  // Adds the gradient of the matrix for a pixel whose source position has gradient (dx, dy).
  ORBBEC_HD void add_gradient(int64_t, int y, int x, double dx, double dy, double* numbers,
                              double*) const {
    numbers[0] += dx * x;
    numbers[1] += dx * y;
    numbers[2] += dx;
    numbers[3] += dy * x;
    numbers[4] += dy * y;
    numbers[5] += dy;
  }

  // In 1/1024 pixel, wrapping like OpenCV 4's 32-bit sums.
  ORBBEC_HD static int coordinate_1024(const F* m, int y, int x, int half) {
    const int row = wrapping_add(round_to_int((m[1] * y + m[2]) * 1024.0), half);
    return wrapping_add(row, round_to_int(m[0] * x * 1024.0));
  }

  ORBBEC_HD FixedPoint fixed_nearest(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    return {saturate_int16(coordinate_1024(m, y, x, 512) >> 10),
            saturate_int16(coordinate_1024(m + 3, y, x, 512) >> 10), 0, 0};
  }

  ORBBEC_HD FixedPoint fixed(int64_t n, int y, int x) const {
    const F* m = matrices + n * stride;
    const int at_x = coordinate_1024(m, y, x, 16) >> 5,
              at_y = coordinate_1024(m + 3, y, x, 16) >> 5;
    return {saturate_int16(at_x >> 5), saturate_int16(at_y >> 5), at_x & 31, at_y & 31};
  }
};

}  // namespace orbbec
