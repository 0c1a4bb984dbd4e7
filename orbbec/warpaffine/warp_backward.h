// Gradients of a nearest or linear warp with respect to its images and its transform.
//
// Many output pixels read one source pixel. Their gradients are added as integers, multiples of a
// unit of 2^-62 of the largest possible sum of an image: such sums do not depend on their order, so
// threads may add in any order and every device and run gives the same bits.
#pragma once

#include "../core/warp.h"

namespace orbbec {

struct WarpBackwardArguments {
  WarpArguments warp;          // `output` is the incoming gradient
  int64_t* sums;               // [N, C, H, W], initially zero: the images' gradients in units
  const double* per_unit;      // [N]: units per 1, a power of two
  double* row_sums;            // [N, height, Transform::kNumbers]
  double* transform_gradient;  // [N, Transform::kNumbers], or [N, 2, height, width] for a
                               // coordinate field
};

// Where a pixel was read, as fractions of the way to its right and lower neighbors.
struct ReadPosition {
  int x, y;
  double a, b;
  bool valid;
};

template <class T>
ORBBEC_HD ReadPosition read_position(const LinearSampler::Tap<T>& tap) {
  return {.x = tap.x, .y = tap.y, .a = tap.a, .b = tap.b, .valid = tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition read_position(const LinearFixedSampler::Tap<T>& tap) {
  return {.x = tap.x,
          .y = tap.y,
          .a = tap.fraction_x / 32.0,
          .b = tap.fraction_y / 32.0,
          .valid = tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition read_position(const NearestSampler::Tap<T>& tap) {
  return {.x = tap.x, .y = tap.y, .a = 0.0, .b = 0.0, .valid = tap.valid};
}

// One row (n, y) of the incoming gradient. kIsLinear: whether the result depends continuously on
// the position (linear) or not (nearest).
template <class T, class Transform, class Sampler>
struct WarpBackward {
  static constexpr bool kIsLinear =
      std::is_same_v<Sampler, LinearSampler> || std::is_same_v<Sampler, LinearFixedSampler>;

  Warp<T, Transform, Sampler> warp;
  Images<int64_t> sums;
  const double* per_unit;
  double* row_sums;
  double* transform_gradient;

  ORBBEC_HD void operator()(int64_t n, int y) const {
    const Image<const T> image = warp.source[n];
    const Image<T> gradient = warp.output[n];
    const Image<int64_t> sum = sums[n];
    double numbers[Transform::kNumbers + 1] = {};
    for (int x = 0; x < gradient.width; ++x) {
      const ReadPosition at = read_position(warp.locate(image, n, y, x));
      double dx = 0, dy = 0;
      if (at.valid) {
        for (int64_t c = 0; c < warp.output.channels; ++c) {
          const double g = static_cast<double>(load(gradient.at(y, x, c)));
          scatter(sum, n, at, c, g);
          if constexpr (kIsLinear) position_derivative(image, at, c, g, dx, dy);
        }
      }
      warp.transform.add_gradient(n, y, x, dx, dy, numbers, transform_gradient);
    }
    for (int i = 0; i < Transform::kNumbers; ++i) {
      row_sums[(n * gradient.height + y) * Transform::kNumbers + i] = numbers[i];
    }
  }

 private:
  // Adds a contribution to the pixel that (x, y) reads; nothing outside a constant border.
  ORBBEC_HD void add(const Image<int64_t>& sum, int64_t n, int x, int y, int64_t c,
                     double contribution) const {
    if (!sum.contains(y, x)) {
      if (outside_is_value(warp.border)) return;
      x = border_index(x, sum.width, warp.border);
      y = border_index(y, sum.height, warp.border);
    }
    const double units = rint(contribution * per_unit[n]);
    const bool fits = units > -0x1p63 && units < 0x1p63;  // false for NaN
    if (units != 0 && fits) atomic_add(&sum.at(y, x, c), static_cast<int64_t>(units));
  }

  ORBBEC_HD void scatter(const Image<int64_t>& sum, int64_t n, const ReadPosition& at, int64_t c,
                         double g) const {
    if constexpr (!kIsLinear) {
      add(sum, n, at.x, at.y, c, g);
    } else {
      const int right = wrapping_add(at.x, 1), bottom = wrapping_add(at.y, 1);
      const double above = g * (1.0 - at.b), below = g * at.b;
      add(sum, n, at.x, at.y, c, above * (1.0 - at.a));
      add(sum, n, right, at.y, c, above * at.a);
      add(sum, n, at.x, bottom, c, below * (1.0 - at.a));
      add(sum, n, right, bottom, c, below * at.a);
    }
  }

  // The derivative of the result along the position, times g.
  ORBBEC_HD void position_derivative(const Image<const T>& image, const ReadPosition& at, int64_t c,
                                     double g, double& dx, double& dy) const {
    const T fill = warp.fill_of(c);
    const Source<T> source{image, warp.border, fill};
    const int right = wrapping_add(at.x, 1), bottom = wrapping_add(at.y, 1);
    const double p00 = load(source.tap(at.x, at.y, c, fill)),
                 p01 = load(source.tap(right, at.y, c, fill));
    const double p10 = load(source.tap(at.x, bottom, c, fill)),
                 p11 = load(source.tap(right, bottom, c, fill));
    dx += g * ((p01 - p00) * (1.0 - at.b) + (p11 - p10) * at.b);
    dy += g * ((p10 - p00) * (1.0 - at.a) + (p11 - p01) * at.a);
  }
};

// One number of one transform: the sum over the rows, in order.
struct SumRows {
  const double* row_sums;
  double* sums;
  int64_t rows, numbers;

  ORBBEC_HD void operator()(int64_t n, int i) const {
    double sum = 0;
    for (int64_t y = 0; y < rows; ++y) sum += row_sums[(n * rows + y) * numbers + i];
    sums[n * numbers + i] = sum;
  }
};

template <class T, class Transform, class Sampler>
WarpBackward<T, Transform, Sampler> make_backward(const Warp<T, Transform, Sampler>& warp,
                                                  const WarpBackwardArguments& a) {
  AnyImages sums = a.warp.source;  // contiguous, with the same regions
  sums.data = a.sums;
  sums.stride_x = 1;
  sums.stride_y = sums.width;
  sums.stride_c = sums.stride_y * sums.height;
  sums.stride_n = sums.stride_c * sums.channels;
  return {.warp = warp,
          .sums = Images<int64_t>(sums),
          .per_unit = a.per_unit,
          .row_sums = a.row_sums,
          .transform_gradient = a.transform_gradient};
}

template <class T, template <class> class Transform, class Launch>
int dispatch_backward_sampler(const WarpBackwardArguments& a, const Launch& launch) {
  const auto with = [&](const auto& warp) { return launch(make_backward(warp, a)); };
  const bool fixed = a.warp.arithmetic == Arithmetic::kCv2_4;
  if (a.warp.interpolation == Interpolation::kNearest) {
    return fixed ? with(make_warp<T, Transform<double>, NearestFixedSampler>(a.warp))
                 : with(make_warp<T, Transform<T>, NearestSampler>(a.warp));
  }
  return fixed ? with(make_warp<T, Transform<double>, LinearFixedSampler>(a.warp))
               : with(make_warp<T, Transform<T>, LinearSampler>(a.warp));
}

// Calls `launch` with the functor for float or double images, nearest or linear.
template <template <class> class Transform, class Launch>
int dispatch_backward(const WarpBackwardArguments& a, const Launch& launch) {
  return a.warp.dtype == DType::kFloat64 ? dispatch_backward_sampler<double, Transform>(a, launch)
                                         : dispatch_backward_sampler<float, Transform>(a, launch);
}

// Runs both passes: `for_each(functor, items, pixels_per_item)` calls functor(n, item) for every
// image and item. Returns the first error.
template <template <class> class Transform, class ForEach>
int run_backward(const WarpBackwardArguments& a, const ForEach& for_each) {
  const int rows = a.warp.output.height;
  const int64_t row_pixels = a.warp.output.width * a.warp.output.channels;
  const int status = dispatch_backward<Transform>(
      a, [&](const auto& backward) { return for_each(backward, rows, row_pixels); });
  constexpr int kNumbers = Transform<float>::kNumbers;
  if (status != 0 || kNumbers == 0) return status;
  return for_each(SumRows{a.row_sums, a.transform_gradient, rows, kNumbers}, kNumbers, rows);
}

}  // namespace orbbec
