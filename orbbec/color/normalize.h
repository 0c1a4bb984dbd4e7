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

template <class From, class Launch>
int dispatch_normalize_from(const NormalizeArguments& a, const Launch& launch) {
  switch (a.output_dtype) {
    case DType::kFloat16:
      return launch(ChannelPointwise<From, Half, Normalize<float>>(a, Normalize<float>(a)));
    case DType::kBFloat16:
      return launch(ChannelPointwise<From, BFloat16, Normalize<float>>(a, Normalize<float>(a)));
    case DType::kFloat64:
      return launch(ChannelPointwise<From, double, Normalize<double>>(a, Normalize<double>(a)));
    default:
      return launch(ChannelPointwise<From, float, Normalize<float>>(a, Normalize<float>(a)));
  }
}

template <class Launch>
int dispatch_normalize(const NormalizeArguments& a, const Launch& launch) {
  switch (a.dtype) {
    case DType::kUInt8:
      return dispatch_normalize_from<uint8_t>(a, launch);
    case DType::kUInt16:
      return dispatch_normalize_from<uint16_t>(a, launch);
    case DType::kFloat16:
      return dispatch_normalize_from<Half>(a, launch);
    case DType::kBFloat16:
      return dispatch_normalize_from<BFloat16>(a, launch);
    case DType::kFloat64:
      return dispatch_normalize_from<double>(a, launch);
    default:
      return dispatch_normalize_from<float>(a, launch);
  }
}

}  // namespace orbbec
