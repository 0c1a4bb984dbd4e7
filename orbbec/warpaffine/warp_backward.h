// Gradients of a nearest or linear warp with respect to its images and its transform.
//
// Many output pixels read one source pixel. Their gradients are added as integers, multiples of a
// unit of 2^-62 of the largest possible sum of an image: such sums do not depend on their order, so
// threads may add in any order and every device and run gives the same bits. The transform's
// gradient is summed in double, in an order that is the same everywhere.
#pragma once

#include <cstring>

#include "../core/warp.h"

namespace orbbec {

// The transform's gradient is summed over strips of the output: a lane of a warp adds its pixel of
// each cell of a strip, downwards; then the lanes are added, and then the strips.
constexpr int kCellWidth = 8, kCellHeight = 4;
constexpr int kCellPixels = kCellWidth * kCellHeight;  // one per lane of a warp
constexpr int kStripHeight = 32;

// At least 1.
ORBBEC_HD int pieces(int size, int step) { return (size - 1) / step + 1; }

ORBBEC_HD int cells_x(int width) { return pieces(width, kCellWidth); }
ORBBEC_HD int cells_of(int height, int width) {
  return cells_x(width) * pieces(height, kCellHeight);
}

// Tiles [left, right] x [top, bottom] of the images, which a cell reads; none if left > right.
struct TileRange {
  uint16_t left, top, right, bottom;
};

struct WarpBackwardArguments {
  WarpArguments warp;          // `output` is the incoming gradient
  AnyImages result;            // the images' gradient, contiguous, with the same regions
  const double* largest;       // [N]: the largest magnitude of each image's incoming gradient
  int64_t* sums;               // CPU: [N, C, H, W], initially zero
  TileRange* reads;            // CUDA: [N, cells]
  double* strip_sums;          // [N, strips, Transform::kNumbers]
  double* transform_gradient;  // [N, Transform::kNumbers], or [N, 2, height, width] for a
                               // coordinate field

  int strips_x() const { return cells_x(warp.output.width); }
  int cells() const { return cells_of(warp.output.height, warp.output.width); }
  int strips() const { return strips_x() * pieces(warp.output.height, kStripHeight); }
};

// Where a pixel was read, as fractions of the way to its right and lower neighbors.
template <class F>
struct ReadPosition {
  int x, y;
  F a, b;
  bool valid;
};

template <class T>
ORBBEC_HD ReadPosition<Compute<T>> read_position(const LinearSampler::Tap<T>& tap) {
  return {.x = tap.x, .y = tap.y, .a = tap.a, .b = tap.b, .valid = tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition<Compute<T>> read_position(const LinearFixedSampler::Tap<T>& tap) {
  return {.x = tap.x,
          .y = tap.y,
          .a = tap.fraction_x / Compute<T>(32),
          .b = tap.fraction_y / Compute<T>(32),
          .valid = tap.valid};
}
template <class T>
ORBBEC_HD ReadPosition<Compute<T>> read_position(const NearestSampler::Tap<T>& tap) {
  return {.x = tap.x, .y = tap.y, .a = 0, .b = 0, .valid = tap.valid};
}

ORBBEC_HD int64_t round_to_int64(double value) {
#if defined(__CUDA_ARCH__)
  return __double2ll_rn(value);
#else
  return static_cast<int64_t>(rint(value));
#endif
}

// The unit of an image's sums; NaN, as the result is then, if its incoming gradient is not finite.
template <class F>
struct Unit {
  double per_one;
  F size[2];  // factors: their product may be no float

  ORBBEC_HD Unit(double largest, double pixels) {
    if (!is_finite(largest)) {
      size[0] = size[1] = per_one = largest - largest;  // NaN
      return;
    }
    const double sum = largest * pixels;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(sum));
    const int reach = static_cast<int>(bits >> 52) - 1022;  // the sum is below 2^reach
    const int exponent = smaller(larger(62 - reach, kMin), kMax);
    per_one = power_of_two(exponent);
    size[0] = power_of_two(-exponent / 2);
    size[1] = power_of_two(-exponent - -exponent / 2);
  }

  ORBBEC_HD F value(int64_t count) const { return static_cast<F>(count) * size[0] * size[1]; }

 private:
  // Of the exponents: enough for the least and the largest numbers of F.
  static constexpr int kMin = -960, kMax = sizeof(F) < 8 ? 212 : 960;

  ORBBEC_HD static double power_of_two(int exponent) {
    const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof(power));
    return power;
  }
};

// Where the values at a position come from; kNothing outside a constant border.
struct ReadPixels {
  static constexpr int kNothing = -1;
  int x[2], y[2];
};

// kIsLinear: whether the result depends continuously on the position (linear) or not (nearest).
template <class T, class TransformOfOp, class Sampler>
struct WarpBackward {
  using Value = T;
  using F = Compute<T>;
  using Position = ReadPosition<F>;
  using Transform = TransformOfOp;
  static constexpr int kNumbers = Transform::kNumbers;
  static constexpr bool kIsLinear =
      std::is_same_v<Sampler, LinearSampler> || std::is_same_v<Sampler, LinearFixedSampler>;
  static constexpr int kTaps = kIsLinear ? 2 : 1;

  Warp<T, Transform, Sampler> warp;
  Images<T> result;
  const double* largest;
  double* strip_sums;
  double* transform_gradient;

  ORBBEC_HD Unit<F> unit(int64_t n) const {
    return {largest[n], static_cast<double>(int64_t{warp.output.height} * warp.output.width)};
  }

  ORBBEC_HD Position position(const Image<const T>& image, int64_t n, int y, int x) const {
    return read_position(warp.locate(image, n, y, x));
  }

  ORBBEC_HD ReadPixels read_pixels(const Image<const T>& image, const Position& at) const {
    return {{read_index(at.x, image.width), read_index(wrapping_add(at.x, 1), image.width)},
            {read_index(at.y, image.height), read_index(wrapping_add(at.y, 1), image.height)}};
  }

  // The weights of the pixels at a position, by row and column.
  struct Weights {
    double of[kTaps][kTaps];

    ORBBEC_HD explicit Weights(const Position& at) {
      const F rows[2] = {F(1) - at.b, at.b}, columns[2] = {F(1) - at.a, at.a};
#pragma unroll
      for (int i = 0; i < kTaps * kTaps; ++i) {
        of[i / kTaps][i % kTaps] = rows[i / kTaps] * columns[i % kTaps];
      }
    }
  };

  // Calls add(r, q, units) for row r and column q of the pixels that gradient g is passed to. What
  // is NaN or does not fit is left out.
  template <class Add>
  ORBBEC_HD static void scatter(const Weights& weights, T g, const Unit<F>& unit, const Add& add) {
    const double units = static_cast<double>(g) * unit.per_one;
    if (!(fabs(units) < 0x1p63)) return;
#pragma unroll
    for (int i = 0; i < kTaps * kTaps; ++i) {
      add(i / kTaps, i % kTaps, round_to_int64(units * weights.of[i / kTaps][i % kTaps]));
    }
  }

  // Adds what a pixel contributes to the numbers of its transform.
  ORBBEC_HD void add_position(const Image<const T>& image, const Image<T>& gradient, int64_t n,
                              int y, int x, const Position& at, double* numbers) const {
    F dx = 0, dy = 0;
    if (kIsLinear && at.valid) {
      const ReadPixels pixels = read_pixels(image, at);
      const int64_t channels = warp.output.channels;
      int64_t c = 0;
      for (; c + 3 <= channels; c += 3)
        add_channels<3>(image, gradient, y, x, at, pixels, c, dx, dy);
      for (; c < channels; ++c) add_channels<1>(image, gradient, y, x, at, pixels, c, dx, dy);
    }
    warp.transform.add_gradient(n, y, x, dx, dy, numbers, transform_gradient);
  }

  // The transform of image n: sums over its strips, in order.
  ORBBEC_HD void sum_strips(int64_t n, int strips, int i) const {
    double sum = 0;
    for (int64_t s = 0; s < strips; ++s) sum += strip_sums[(n * strips + s) * kNumbers + i];
    transform_gradient[n * kNumbers + i] = sum;
  }

 private:
  ORBBEC_HD int read_index(int index, int size) const {
    if (static_cast<unsigned>(index) < static_cast<unsigned>(size)) return index;
    return outside_is_value(warp.border) ? ReadPixels::kNothing
                                         : border_index(index, size, warp.border);
  }

  // Adds the derivative along the position, times the gradient, of channels from `first`. All are
  // loaded before they are used.
  template <int kChannels>
  ORBBEC_HD void add_channels(const Image<const T>& image, const Image<T>& gradient, int y, int x,
                              const Position& at, const ReadPixels& pixels, int64_t first, F& dx,
                              F& dy) const {
    T g[kChannels], p[kChannels][2][2];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      g[c] = gradient.at(y, x, first + c);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        p[c][i / 2][i % 2] =
            image.at(larger(pixels.y[i / 2], 0), larger(pixels.x[i % 2], 0), first + c);
      }
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const T fill = warp.fill_of(first + c);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (pixels.x[i % 2] < 0 || pixels.y[i / 2] < 0) p[c][i / 2][i % 2] = fill;
      }
      const F p00 = p[c][0][0], p01 = p[c][0][1], p10 = p[c][1][0], p11 = p[c][1][1];
      dx += g[c] * ((p01 - p00) * (F(1) - at.b) + (p11 - p10) * at.b);
      dy += g[c] * ((p10 - p00) * (F(1) - at.a) + (p11 - p01) * at.a);
    }
  }
};

template <class T, class Transform, class Sampler>
WarpBackward<T, Transform, Sampler> make_backward(const Warp<T, Transform, Sampler>& warp,
                                                  const WarpBackwardArguments& a) {
  return {.warp = warp,
          .result = Images<T>(a.result),
          .largest = a.largest,
          .strip_sums = a.strip_sums,
          .transform_gradient = a.transform_gradient};
}

template <class T, template <class> class Transform, class Launch>
auto dispatch_backward_sampler(const WarpBackwardArguments& a, const Launch& launch) {
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
auto dispatch_backward(const WarpBackwardArguments& a, const Launch& launch) {
  return a.warp.dtype == DType::kFloat64 ? dispatch_backward_sampler<double, Transform>(a, launch)
                                         : dispatch_backward_sampler<float, Transform>(a, launch);
}

}  // namespace orbbec
