// A warp: a coordinate transform gives the source position of each output pixel, a sampler the
// value there. Used by warpaffine, warpperspective and remap, each with its own transform.
#pragma once

#include "fixed_sampling.h"
#include "sampling.h"

namespace orbbec {

// In the last columns of a row, past the last multiple of 16, OpenCV 5 fuses products and sums in
// another order.
constexpr int kRowBlock = 16;

constexpr int kMaxFills = 4;  // channels with their own border value in one launch

// The arguments of a warp, with types known only at run time: filled by a binding, read by
// `dispatch_warp`.
struct WarpArguments {
  AnyImages source, output;
  DType dtype;
  Interpolation interpolation;
  Border border;
  Arithmetic arithmetic;
  double fill[kMaxFills];    // of channel c: fill[c], or fill[0] if there are more channels
  const void* transform;     // float or double by `transform_is_double`: matrices, or x coordinates
  const void* transform_y;   // y coordinates; null for matrices
  int64_t transform_stride;  // elements between the transforms of consecutive images; 0 if all
                             // share one
};

// Transforms for fixed-point arithmetic and float64 images are double, all others float.
inline bool transform_is_double(DType dtype, Interpolation interpolation, Arithmetic arithmetic) {
  return dtype == DType::kFloat64 || arithmetic == Arithmetic::kCv2_4 ||
         interpolation == Interpolation::kLanczos4;
}

template <class T, class TransformOfOp, class SamplerOfOp>
struct Warp {
  using Value = T;
  using Transform = TransformOfOp;
  using Sampler = SamplerOfOp;
  using Tap = typename Sampler::template Tap<T>;
  static constexpr bool kIsLinear = std::is_same_v<Sampler, LinearSampler>;
  static constexpr bool kIsLight = kIsLinear || std::is_same_v<Sampler, NearestSampler>;

  Images<const T> source;
  Images<T> output;
  Transform transform;
  Border border;
  T fill[kMaxFills];

  ORBBEC_HD T outside(const Image<T>& target, int y, int x, int64_t c) const {
    return border == Border::kTransparent ? target.at(y, x, c) : fill_of(c);
  }

  ORBBEC_HD T fill_of(int64_t c) const { return fill[output.channels > kMaxFills ? 0 : c]; }

  ORBBEC_HD Tap locate(const Image<const T>& image, int64_t n, int y, int x) const {
    Tap tap = Sampler::template locate<T>(transform, Source<T>{image, border, T{}}, n, y, x);
    if (image.height < 1 || image.width < 1) tap.valid = false;
    return tap;
  }

  // A position that is not finite, or an image without pixels, returns the outside of the border.
  ORBBEC_HD T read(const Image<const T>& image, const Tap& tap, int64_t c, T outside) const {
    return tap.valid
               ? Sampler::template read<T>(Source<T>{image, border, fill_of(c)}, tap, c, outside)
               : outside;
  }

  // The same before rounding; no border is transparent.
  ORBBEC_HD Compute<T> value(const Image<const T>& image, const Tap& tap, int64_t c) const {
    const T fill = fill_of(c);
    return tap.valid ? Sampler::template value<T>(Source<T>{image, border, fill}, tap, c, fill)
                     : load(fill);
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const { write(output[n], n, y, x, x); }

  // Stores pixel (y, x) in a target of pixels, or of floats before rounding.
  template <class Out>
  ORBBEC_HD void write(const Image<Out>& target, int64_t n, int y, int x, int column) const {
    const Image<const T> image = source[n];
    const Tap tap = locate(image, n, y, x);
    for (int64_t c = 0; c < output.channels; ++c) {
      if constexpr (std::is_same_v<Out, T>) {
        target.at(y, column, c) = read(image, tap, c, outside(target, y, column, c));
      } else {
        target.at(y, column, c) = value(image, tap, c);
      }
    }
  }
};

template <class T, class Transform, class Sampler>
Warp<T, Transform, Sampler> make_warp(const WarpArguments& a) {
  Warp<T, Transform, Sampler> warp{.source = Images<const T>(a.source),
                                   .output = Images<T>(a.output),
                                   .transform = Transform(a),
                                   .border = a.border,
                                   .fill = {}};
  for (int c = 0; c < kMaxFills; ++c) warp.fill[c] = store<T>(a.fill[c] + 0.0);  // -0 counts as 0
  return warp;
}

// Calls `launch` with the warp for the arguments. `Transform<F>` is a transform in float or double.
template <class T, template <class> class Transform, class Launch>
auto dispatch_sampler(const WarpArguments& a, const Launch& launch) {
  using Float = Transform<Compute<T>>;
  using Fixed = Transform<double>;
  const bool fixed = a.arithmetic == Arithmetic::kCv2_4;
  switch (a.interpolation) {
    case Interpolation::kNearest:
      return fixed ? launch(make_warp<T, Fixed, NearestFixedSampler>(a))
                   : launch(make_warp<T, Float, NearestSampler>(a));
    case Interpolation::kLinear:
      return fixed ? launch(make_warp<T, Fixed, LinearFixedSampler>(a))
                   : launch(make_warp<T, Float, LinearSampler>(a));
    case Interpolation::kCubic:
      return fixed ? launch(make_warp<T, Fixed, TabulatedSampler<CubicKernel>>(a))
                   : launch(make_warp<T, Float, CubicSampler>(a));
    default:  // kLanczos4
      return launch(make_warp<T, Fixed, TabulatedSampler<Lanczos4Kernel>>(a));
  }
}

template <template <class> class Transform, class Launch>
auto dispatch_warp(const WarpArguments& a, const Launch& launch) {
  return dispatch_any_dtype(
      a.dtype, [&](auto value) { return dispatch_sampler<decltype(value), Transform>(a, launch); });
}

}  // namespace orbbec
