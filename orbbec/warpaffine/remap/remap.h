// remap: reads source positions from a coordinate field. Included by remap_cpu.cpp, remap_cuda.cu
// and binding.cpp.
#pragma once

#include "../../core/warp.h"

namespace orbbec {

template <class F>
struct CoordinateField {
  using Number = F;
  static constexpr int kNumbers = 0;

  const F *xs, *ys;  // [N, height, width]
  int64_t stride;    // between images, of both
  int64_t plane;     // coordinates of an image
  int width;

  explicit CoordinateField(const WarpArguments& a)
      : xs(static_cast<const F*>(a.transform)),
        ys(static_cast<const F*>(a.transform_y)),
        stride(a.transform_stride),
        plane(static_cast<int64_t>(a.output.height) * a.output.width),
        width(a.output.width) {}

  // This field for image n alone.
  ORBBEC_HD CoordinateField in_registers(int64_t n, F (&)[kNumbers + 1]) const {
    CoordinateField field = *this;
    field.xs += n * stride;
    field.ys += n * stride;
    field.stride = 0;
    return field;
  }

  ORBBEC_HD int64_t index(int64_t n, int y, int x) const {
    return n * stride + static_cast<int64_t>(y) * width + x;
  }

  ORBBEC_HD Point<F> at(int64_t n, int y, int x) const {
    const int64_t i = index(n, y, x);
    return {xs[i], ys[i]};
  }

  ORBBEC_HD Point<F> fused(int64_t n, int y, int x) const { return at(n, y, x); }
  ORBBEC_HD Point<F> unfused(int64_t n, int y, int x) const { return at(n, y, x); }

  // The positions of a group of pixels, the first at x.
  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> fused_group(int64_t n, int y, int x) const {
    const int64_t i = index(n, y, x);
    return {Simd::load(xs + i), Simd::load(ys + i)};
  }

  template <class Simd>
  ORBBEC_HD Point<typename Simd::Float> unfused_group(int64_t n, int y, int x) const {
    return fused_group<Simd>(n, y, x);
  }

  // A position belongs to one pixel: its gradient is stored, not summed.
  ORBBEC_HD void add_gradient(int64_t n, int y, int x, double dx, double dy, double*,
                              double* positions) const {
    double* const entry = positions + n * 2 * plane + static_cast<int64_t>(y) * width + x;
    entry[0] = dx;
    entry[plane] = dy;
  }

  ORBBEC_HD FixedPoint fixed_nearest(int64_t n, int y, int x) const {
    const Point<F> position = at(n, y, x);
    return {saturate_int16(round_to_int(position.x)), saturate_int16(round_to_int(position.y)), 0,
            0};
  }

  // OpenCV's maps are float32, and so is the product.
  ORBBEC_HD FixedPoint fixed(int64_t n, int y, int x) const {
    const Point<F> position = at(n, y, x);
    const int at_x = round_to_int(static_cast<float>(position.x) * 32.0f);
    const int at_y = round_to_int(static_cast<float>(position.y) * 32.0f);
    return {saturate_int16(at_x >> 5), saturate_int16(at_y >> 5), at_x & 31, at_y & 31};
  }
};

}  // namespace orbbec
