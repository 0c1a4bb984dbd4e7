// torchvision's v2.functional adjustments, with the arithmetic of its vectorized CPU kernels.
// Floats range from 0 to 1. Included by adjust_cpu.cpp, adjust_cuda.cu and binding_adjust.cpp.
#pragma once

#include "../../core/power.h"
#include "../pointwise.h"
#include "adjust_hue.h"

namespace orbbec {

enum class Adjustment {
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kGamma,
  kSharpness,
  kInvert,
  kPosterize,
  kSolarize,
};

struct AdjustArguments : PointwiseArguments {
  Adjustment adjustment;
  PerImage factor;
  double gain;          // of gamma
  const double* mean;   // [N], for contrast: the mean of the gray image
  const double* drawn;  // [N], for sharpness: 0 where an image stays; null: none does
};

template <class V>
using Real = std::conditional_t<std::is_same_v<V, int>, float, V>;

// Clamps to 0 and the maximum value; NaN becomes 0 in bytes. Bytes are truncated.
template <class V>
ORBBEC_HD V cut(Real<V> value) {
  constexpr Real<V> kMaxValue = std::is_same_v<V, int> ? 255 : 1;
#if defined(__CUDA_ARCH__)  // fewer instructions, and the same bytes: the larger of NaN and 0 is 0
  if constexpr (std::is_same_v<V, int>)
    return static_cast<int>(fminf(fmaxf(value, 0.0f), kMaxValue));
#endif
  const Real<V> low = choose(value < 0, Real<V>(0), value);
  const Real<V> inside = choose(low > kMaxValue, kMaxValue, low);
  if constexpr (std::is_same_v<V, int>)
    return static_cast<int>(choose(inside == inside, inside, 0.0f));
  if constexpr (!std::is_same_v<V, int>) return inside;
}

template <class F>
ORBBEC_HD F blend(F value, F other, F factor, F rest) {
  return fused_multiply_add(other, rest, value * factor);
}

template <class F>
struct Brightness {
  F factor;
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    return cut<V>(static_cast<F>(value) * factor);
  }
};

template <class F>
struct Contrast {
  F factor, rest, mean;
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    return cut<V>(blend<F>(static_cast<F>(value), mean, factor, rest));
  }
};

struct Invert {
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    return V(std::is_same_v<V, int> ? 255 : 1) - value;
  }
};

struct Posterize {
  int bits;
  ORBBEC_HD int operator()(int value) const { return value & (((1 << bits) - 1) << (8 - bits)); }
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    const V levels = static_cast<V>(1 << bits);
    const V level = floor(value * levels);
    const V low = choose(level < 0, V(0), level);
    return choose(low > levels - 1, levels - 1, low) * (1 / levels);
  }
};

template <class F>
struct Solarize {
  F threshold;
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    return choose(static_cast<F>(value) >= threshold, Invert{}(value), value);
  }
};

struct Gamma {
  double gamma, gain;
  template <class V>
  ORBBEC_HD V operator()(V value) const {
    const V raised = static_cast<V>(power(static_cast<double>(value), gamma));
    return choose(gain == 1, raised, cut<V>(raised * static_cast<V>(gain)));
  }
};

// The per-image state of a call, made from its arguments.
template <class Work, class F>
struct ForImages {
  static constexpr bool kSameForChannels = true;
  PerImage factor;
  double gain;
  const double* mean;

  explicit ForImages(const AdjustArguments& a) : factor(a.factor), gain(a.gain), mean(a.mean) {}

  ORBBEC_HD Work of(int64_t n, int64_t) const {
    if constexpr (std::is_same_v<Work, Contrast<F>>) {
      const double value = factor.of(n);
      return {static_cast<F>(value), static_cast<F>(1 - value), static_cast<F>(mean[n])};
    } else if constexpr (std::is_same_v<Work, Gamma>) {
      return {factor.of(n), gain};
    } else if constexpr (std::is_same_v<Work, Posterize>) {
      return {clamp_int(round_to_int(factor.of(n)), 0, 8)};
    } else if constexpr (std::is_same_v<Work, Invert>) {
      return {};
    } else {
      return {static_cast<F>(factor.of(n))};
    }
  }
};

// torchvision's gray; truncated for bytes.
template <class V>
ORBBEC_HD Real<V> gray_of(const V (&rgb)[3]) {
  using F = Real<V>;
  const F gray = fused_multiply_add(F(rgb[2]), F(0.114),
                                    fused_multiply_add(F(rgb[1]), F(0.587), F(rgb[0]) * F(0.2989)));
  // A conversion, because floorf would keep the compiler from vectorizing.
  if constexpr (std::is_same_v<V, int>) return static_cast<F>(static_cast<int>(gray));
  if constexpr (!std::is_same_v<V, int>) return gray;
}

template <class F>
struct Saturate {
  F factor, rest;

  ORBBEC_HD explicit Saturate(double value)
      : factor(static_cast<F>(value)), rest(static_cast<F>(1 - value)) {}

  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&out)[3], InVector<true>) const {
    const F gray = gray_of(in);
    for (int c = 0; c < 3; ++c)
      out[c] = cut<V>(blend<F>(static_cast<F>(in[c]), gray, factor, rest));
  }
};

template <class Work>
struct ColorsForImages {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  PerImage factor;
  ORBBEC_HD Work of(int64_t n) const { return Work(factor.of(n)); }
};

// Border pixels are copied; other pixels move away from the mean of their neighborhood, in which
// the center counts five times.
template <class T>
struct Sharpen {
  using V = Lane<T>;
  using F = Real<V>;

  Images<const T> source;
  Images<T> output;
  PerImage factor;
  const double* drawn;

  explicit Sharpen(const AdjustArguments& a)
      : source(a.source), output(a.output), factor(a.factor), drawn(a.drawn) {}

  ORBBEC_HD bool stays(int64_t n) const { return drawn != nullptr && drawn[n] == 0; }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    const bool is_border = y == 0 || x == 0 || y == from.height - 1 || x == from.width - 1;
    const bool small = from.height <= 2 || from.width <= 2 || stays(n);
    for (int64_t c = 0; c < output.channels; ++c) {
      const auto around = [&](int dy, int dx) { return from.at(y + dy, x + dx, c); };
      to.at(y, x, c) = is_border || small ? from.at(y, x, c) : sharpened(around, rest(n));
    }
  }

  // A byte that changes by 2^20 times a whole number is 0 or 255, as with any larger factor.
  ORBBEC_HD F rest(int64_t n) const {
    const F rest = static_cast<F>(1 - factor.of(n));
    return kIsByte ? fmin(fmax(rest, F(-(1 << 20))), F(1 << 20)) : rest;
  }

  // around(dy, dx): a pixel of the neighborhood.
  template <class Around>
  ORBBEC_HD static T sharpened(const Around& around, F rest) {
    const V middle = to_lane(around(0, 0));
    const V change = mean_of(around, middle) - middle;
    const F value = fused_multiply_add(F(change), rest, F(middle));
    if constexpr (kIsByte) return static_cast<T>(clamp_int(static_cast<int>(value), 0, 255));
    if constexpr (!kIsByte) return from_lane<T>(cut<V>(value));
  }

 private:
  static constexpr bool kIsByte = std::is_same_v<V, int>;

  template <class Around>
  ORBBEC_HD static V mean_of(const Around& around, V middle) {
    if constexpr (kIsByte) {
      uint16_t sum = static_cast<uint16_t>(4 * middle + 6);  // the CPU adds 16 bits the fastest
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) sum = static_cast<uint16_t>(sum + around(dy, dx));
      }
      // Rounds sum / 13: 13 * 5042 = 2^16 + 10. There are no halves.
      return (sum * 5042) >> 16;
    } else {
      constexpr V kNeighbor = V(1.0 / 13.0), kMiddle = V(5.0 / 13.0);
      V sum = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const V weight = dy == 0 && dx == 0 ? kMiddle : kNeighbor;
          sum = sum + to_lane(around(dy, dx)) * weight;
        }
      }
      return sum;
    }
  }
};

template <class T, class Launch>
int dispatch_adjustment(const AdjustArguments& a, const Launch& launch) {
  using F = Real<Lane<T>>;
  const auto channels = [&](auto rule) {
    return launch(ChannelPointwise<T, T, decltype(rule)>(a, rule));
  };
  const auto colors = [&](auto rule) { return launch(PixelPointwise<T, decltype(rule)>(a, rule)); };
  switch (a.adjustment) {
    case Adjustment::kBrightness:
      return channels(ForImages<Brightness<F>, F>(a));
    case Adjustment::kContrast:
      return channels(ForImages<Contrast<F>, F>(a));
    case Adjustment::kInvert:
      return channels(ForImages<Invert, F>(a));
    case Adjustment::kPosterize:
      return channels(ForImages<Posterize, F>(a));
    case Adjustment::kSolarize:
      return channels(ForImages<Solarize<F>, F>(a));
    case Adjustment::kGamma:  // bytes use a lookup table
      if constexpr (!std::is_same_v<T, uint8_t>) return channels(ForImages<Gamma, F>(a));
      break;
    case Adjustment::kSaturation:
      return colors(ColorsForImages<Saturate<F>>{a.factor});
    case Adjustment::kHue:
      return colors(ColorsForImages<ShiftHue<F>>{a.factor});
    case Adjustment::kSharpness:
      return launch(Sharpen<T>(a));
  }
  return 0;
}

template <class Launch>
int dispatch_adjust(const AdjustArguments& a, const Launch& launch) {
  return dispatch_dtype<uint8_t, Half, BFloat16, double, float>(
      a.dtype, [&](auto value) { return dispatch_adjustment<decltype(value)>(a, launch); });
}

}  // namespace orbbec
