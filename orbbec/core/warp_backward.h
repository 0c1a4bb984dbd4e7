// Gradients of a nearest or linear warp, for its images and for its map.
//
// Many output pixels read one source pixel, so their gradients meet there. They are added as whole
// numbers, multiples of a unit of 2^-62 of what an image's sum can reach at most: such sums do not
// depend on their order, so threads may add as they come and every device and every run gives the
// same bits.
#pragma once

#include "warp.h"

namespace orbbec {

struct WarpBackwardArguments {
  WarpArguments warp;      // `output` is the gradient that comes in
  int64_t* sums;           // [N, C, H, W], zero before: the images' gradients in units
  const double* per_unit;  // [N]: units in 1, a power of two
  double* row_sums;        // [N, height, Map::kNumbers]
  double* map_gradient;    // [N, Map::kNumbers], or [N, 2, height, width] for a table of positions
};

// Where a pixel was read, as a fraction of the way to its right and lower neighbours.
struct ReadPosition {
  int x, y;
  double a, b;
  bool valid;
};

template <class T>
ORBBEC_HD ReadPosition read_position(const LinearSampler::Tap<T>& tap) {
  return {tap.x, tap.y, tap.a, tap.b, tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition read_position(const LinearFixedSampler::Tap<T>& tap) {
  return {tap.x, tap.y, tap.fraction_x / 32.0, tap.fraction_y / 32.0, tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition read_position(const NearestSampler::Tap<T>& tap) {
  return {tap.x, tap.y, 0.0, 0.0, tap.valid};
}

// One row of the incoming gradient: (n, y). kMoves: whether the result moves with the position
// (linear) or jumps (nearest).
template <class T, class Map, class Sampler>
struct WarpBackward {
  static constexpr bool kMoves =
      std::is_same_v<Sampler, LinearSampler> || std::is_same_v<Sampler, LinearFixedSampler>;

  Warp<T, Map, Sampler> warp;
  Images<int64_t> sums;
  const double* per_unit;
  double* row_sums;
  double* map_gradient;

  ORBBEC_HD void operator()(int64_t n, int y) const {
    const Image<const T> image = warp.source[n];
    const Image<T> gradient = warp.output[n];
    const Image<int64_t> sum = sums[n];
    double numbers[Map::kNumbers + 1] = {};
    for (int x = 0; x < gradient.width; ++x) {
      const ReadPosition at = read_position(warp.locate(image, n, y, x));
      double dx = 0, dy = 0;
      if (at.valid) {
        for (int64_t c = 0; c < warp.output.channels; ++c) {
          const double g = static_cast<double>(load(gradient.at(y, x, c)));
          scatter(sum, n, at, c, g);
          if constexpr (kMoves) move(image, at, c, g, dx, dy);
        }
      }
      warp.map.add_gradient(n, y, x, dx, dy, numbers, map_gradient);
    }
    for (int i = 0; i < Map::kNumbers; ++i) {
      row_sums[(n * gradient.height + y) * Map::kNumbers + i] = numbers[i];
    }
  }

 private:
  // Adds a share of g to the pixel that (x, y) stands for; what lies beyond a constant border takes
  // none.
  ORBBEC_HD void add(const Image<int64_t>& sum, int64_t n, int x, int y, int64_t c,
                     double share) const {
    if (!sum.contains(y, x)) {
      if (outside_is_value(warp.border)) return;
      x = border_index(x, sum.width, warp.border);
      y = border_index(y, sum.height, warp.border);
    }
    const double units = rint(share * per_unit[n]);
    const bool fits = units > -0x1p63 && units < 0x1p63;  // false for NaN
    if (units != 0 && fits) atomic_add(&sum.at(y, x, c), static_cast<int64_t>(units));
  }

  ORBBEC_HD void scatter(const Image<int64_t>& sum, int64_t n, const ReadPosition& at, int64_t c,
                         double g) const {
    if constexpr (!kMoves) {
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

  // How the result changes as the position moves, times g.
  ORBBEC_HD void move(const Image<const T>& image, const ReadPosition& at, int64_t c, double g,
                      double& dx, double& dy) const {
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

// One number of one map: the sum over the rows, from the first to the last.
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

template <class T, class Map, class Sampler>
WarpBackward<T, Map, Sampler> make_backward(const Warp<T, Map, Sampler>& warp,
                                            const WarpBackwardArguments& a) {
  AnyImages sums = a.warp.source;  // contiguous, seen through the same regions
  sums.data = a.sums;
  sums.stride_x = 1;
  sums.stride_y = sums.width;
  sums.stride_c = sums.stride_y * sums.height;
  sums.stride_n = sums.stride_c * sums.channels;
  return {warp, Images<int64_t>(sums), a.per_unit, a.row_sums, a.map_gradient};
}

template <class T, template <class> class Map, class Launch>
int dispatch_backward_sampler(const WarpBackwardArguments& a, const Launch& launch) {
  const auto with = [&](const auto& warp) { return launch(make_backward(warp, a)); };
  const bool fixed = a.warp.arithmetic == Arithmetic::kCv2_4;
  if (a.warp.interpolation == Interpolation::kNearest) {
    return fixed ? with(make_warp<T, Map<double>, NearestFixedSampler>(a.warp))
                 : with(make_warp<T, Map<T>, NearestSampler>(a.warp));
  }
  return fixed ? with(make_warp<T, Map<double>, LinearFixedSampler>(a.warp))
               : with(make_warp<T, Map<T>, LinearSampler>(a.warp));
}

// Calls `launch` with the functor for float or double images, nearest or linear; no others come
// here.
template <template <class> class Map, class Launch>
int dispatch_backward(const WarpBackwardArguments& a, const Launch& launch) {
  return a.warp.dtype == DType::kFloat64 ? dispatch_backward_sampler<double, Map>(a, launch)
                                         : dispatch_backward_sampler<float, Map>(a, launch);
}

// Runs both passes: `for_each(functor, items, pixels_per_item)` calls functor(n, item) for every
// image and item. Gives the first error.
template <template <class> class Map, class ForEach>
int run_backward(const WarpBackwardArguments& a, const ForEach& for_each) {
  const int rows = a.warp.output.height;
  const int64_t row_pixels = a.warp.output.width * a.warp.output.channels;
  const int status = dispatch_backward<Map>(
      a, [&](const auto& backward) { return for_each(backward, rows, row_pixels); });
  constexpr int kNumbers = Map<float>::kNumbers;
  if (status != 0 || kNumbers == 0) return status;
  return for_each(SumRows{a.row_sums, a.map_gradient, rows, kNumbers}, kNumbers, rows);
}

}  // namespace orbbec
