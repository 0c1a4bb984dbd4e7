// A warp: every output pixel asks a map where to read, and a sampler what stands there. Used by the
// operators that resample (warpaffine, warpperspective, remap); each brings its map.
#pragma once

#include "fixed_sampling.h"
#include "sampling.h"

namespace orbbec {

// OpenCV 5 fuses products and sums in another order in the last columns of a row, those past the
// last whole 16.
constexpr int kRowBlock = 16;

constexpr int kMaxFills = 4;  // channels that can have a border value of their own in one launch

// All that a warp needs, with types known at run time only: filled by a binding, read by
// `dispatch_warp`.
struct WarpArguments {
  AnyImages source, output;
  DType dtype;
  Interpolation interpolation;
  Border border;
  Arithmetic arithmetic;
  double fill[kMaxFills];  // of channel c: fill[c], or fill[0] for all if there are more channels
  const void* map;         // float or double by `map_is_double`: matrices, or coordinates
  int64_t map_stride;      // elements from one image's map to the next; 0 if all share one
};

// Maps of the fixed-point arithmetic and of float64 images are double, all others float.
inline bool map_is_double(DType dtype, Interpolation interpolation, Arithmetic arithmetic) {
  return dtype == DType::kFloat64 || arithmetic == Arithmetic::kCv2_4 ||
         interpolation == Interpolation::kLanczos4;
}

template <class T, class Map, class Sampler>
struct Warp {
  using Value = T;
  using Tap = typename Sampler::template Tap<T>;
  static constexpr bool kIsLinear = std::is_same_v<Sampler, LinearSampler>;
  static constexpr bool kIsLight = kIsLinear || std::is_same_v<Sampler, NearestSampler>;

  Images<const T> source;
  Images<T> output;
  Map map;
  Border border;
  T fill[kMaxFills];

  ORBBEC_HD T outside(const Image<T>& target, int y, int x, int64_t c) const {
    return border == Border::kTransparent ? target.at(y, x, c) : fill_of(c);
  }

  ORBBEC_HD T fill_of(int64_t c) const { return fill[output.channels > kMaxFills ? 0 : c]; }

  ORBBEC_HD Tap locate(const Image<const T>& image, int64_t n, int y, int x) const {
    Tap tap = Sampler::template locate<T>(map, Source<T>{image, border, T{}}, n, y, x);
    if (image.height < 1 || image.width < 1) tap.valid = false;
    return tap;
  }

  // A position that is not finite, or an image without pixels, gives what lies outside of the
  // border.
  ORBBEC_HD T read(const Image<const T>& image, const Tap& tap, int64_t c, T outside) const {
    return tap.valid
               ? Sampler::template read<T>(Source<T>{image, border, fill_of(c)}, tap, c, outside)
               : outside;
  }

  // The same before it is rounded; no border is transparent.
  ORBBEC_HD Compute<T> value(const Image<const T>& image, const Tap& tap, int64_t c) const {
    const T fill = fill_of(c);
    return tap.valid ? Sampler::template value<T>(Source<T>{image, border, fill}, tap, c, fill)
                     : load(fill);
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const { write(output[n], n, y, x, x); }

  // Pixel (y, x) to a column of a target of pixels, or of floats that are not rounded.
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

template <class T, class Map, class Sampler>
Warp<T, Map, Sampler> make_warp(const WarpArguments& a) {
  Warp<T, Map, Sampler> warp{Images<const T>(a.source), Images<T>(a.output), Map(a), a.border, {}};
  for (int c = 0; c < kMaxFills; ++c) warp.fill[c] = store<T>(a.fill[c] + 0.0);  // -0 counts as 0
  return warp;
}

// Calls `launch` with the warp that fits the arguments. `Map<F>` reads maps of float or double.
template <class T, template <class> class Map, class Launch>
int dispatch_sampler(const WarpArguments& a, const Launch& launch) {
  using Float = Map<Compute<T>>;
  using Fixed = Map<double>;
  const bool fixed = a.arithmetic == Arithmetic::kCv2_4;
  switch (a.interpolation) {
    case Interpolation::kNearest:
      return fixed ? launch(make_warp<T, Fixed, NearestFixedSampler>(a))
                   : launch(make_warp<T, Float, NearestSampler>(a));
    case Interpolation::kLinear:
      return fixed ? launch(make_warp<T, Fixed, LinearFixedSampler>(a))
                   : launch(make_warp<T, Float, LinearSampler>(a));
    case Interpolation::kCubic:
      return fixed ? launch(make_warp<T, Fixed, TableSampler<CubicKernel>>(a))
                   : launch(make_warp<T, Float, CubicSampler>(a));
    case Interpolation::kLanczos4:
      return launch(make_warp<T, Fixed, TableSampler<Lanczos4Kernel>>(a));
  }
  return -1;
}

template <template <class> class Map, class Launch>
int dispatch_warp(const WarpArguments& a, const Launch& launch) {
  switch (a.dtype) {
    case DType::kUInt8:
      return dispatch_sampler<uint8_t, Map>(a, launch);
    case DType::kUInt16:
      return dispatch_sampler<uint16_t, Map>(a, launch);
    case DType::kFloat16:
      return dispatch_sampler<Half, Map>(a, launch);
    case DType::kBFloat16:
      return dispatch_sampler<BFloat16, Map>(a, launch);
    case DType::kFloat32:
      return dispatch_sampler<float, Map>(a, launch);
    case DType::kFloat64:
      return dispatch_sampler<double, Map>(a, launch);
  }
  return -1;
}

}  // namespace orbbec
