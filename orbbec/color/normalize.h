// normalize: (pixel * scale - mean) / std per channel, from any dtype to a float dtype, in any
// layout. Included by normalize_cpu.cpp, normalize_cuda.cu and binding_normalize.cpp.
#pragma once

#include "pointwise.h"

namespace orbbec {

constexpr int kMaxNormalized = 16;  // channels whose parameters are passed with the call

struct NormalizeArguments : PointwiseArguments {
  double mean[kMaxNormalized], std[kMaxNormalized];
  int numbers;   // of mean and of std: one, or one per channel
  double scale;  // of the pixels
};

// Rounds after each step, like torch: product, difference, quotient.
template <class V>
struct NormalizeChannel {
  V scale, mean, std;
  template <class Pixel>
  ORBBEC_HD V difference(Pixel pixel) const {
    return static_cast<V>(pixel) * scale - mean;
  }
  template <class Pixel>
  ORBBEC_HD V operator()(Pixel pixel) const {
    return difference(pixel) / std;
  }
};

template <class V>
struct Normalize {
  static constexpr bool kSameForChannels = false;
  V scale, mean[kMaxNormalized], std[kMaxNormalized];
  int numbers;

  explicit Normalize(const NormalizeArguments& a)
      : scale(static_cast<V>(a.scale)), numbers(a.numbers) {
    for (int c = 0; c < numbers; ++c) {
      mean[c] = static_cast<V>(a.mean[c]);
      std[c] = static_cast<V>(a.std[c]);
    }
  }
  ORBBEC_HD NormalizeChannel<V> of(int64_t, int64_t c) const {
    const int64_t i = numbers == 1 ? 0 : c;
    return {scale, mean[i], std[i]};
  }
};

template <class Launch>
auto dispatch_normalize(const NormalizeArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype, [&](auto from) {
    return dispatch_dtype<Half, BFloat16, double, float>(a.output_dtype, [&](auto to) {
      using Rule = Normalize<Compute<decltype(to)>>;
      return launch(ChannelPointwise<decltype(from), decltype(to), Rule>(a, Rule(a)));
    });
  });
}

}  // namespace orbbec
