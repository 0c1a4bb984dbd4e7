// gaussian_noise: adds independent normal noise to each image. Included by noise_cpu.cpp,
// noise_cuda.cu and binding.cpp.
#pragma once

#include "../core/image.h"
#include "../core/noise.h"
#include "../core/per_image.h"

namespace orbbec {

struct GaussianNoiseArguments {
  AnyImages source, output;
  DType dtype;
  NoiseKey noise;
  PerImage mean, sigma;  // as fractions of the maximum value: 255 for bytes, 1 for floats
  bool clip;             // clamps floats to 0 and 1; bytes always saturate
};

template <class T>
struct GaussianNoise {
  static constexpr double kMaxValue = std::is_same_v<T, uint8_t> ? 255 : 1;

  Images<const T> source;
  Images<T> output;
  NoiseKey noise;
  PerImage mean, sigma;
  bool clip;

  explicit GaussianNoise(const GaussianNoiseArguments& a)
      : source(a.source),
        output(a.output),
        noise(a.noise),
        mean(a.mean),
        sigma(a.sigma),
        clip(a.clip) {}

  ORBBEC_HD T noisy(T pixel, double noise_of_pixel) const {
    const double sum = static_cast<double>(load(pixel)) + noise_of_pixel * kMaxValue;
    if (!clip && !std::is_same_v<T, uint8_t>) return store<T>(sum);
    return store<T>(sum < 0 ? 0.0 : sum > kMaxValue ? kMaxValue : sum);
  }

  // Columns [first, last) of row y of channel c. A thread or task owns whole groups of four, which
  // share a Philox block.
  ORBBEC_HD void columns(int64_t n, int64_t c, int y, int first, int last) const {
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    const double shift = mean.of(n), scale = sigma.of(n);
    for_each_noise_pixel<float, Noise::kNormal>(
        noise, n, c * to.height + y, to.width, first, last, [&](int x, float normal) {
          to.at(y, x, c) = noisy(from.at(y, x, c), shift + scale * normal);
        });
  }
};

template <class Launch>
int dispatch_gaussian_noise(const GaussianNoiseArguments& a, const Launch& launch) {
  switch (a.dtype) {
    case DType::kUInt8:
      return launch(GaussianNoise<uint8_t>(a));
    case DType::kFloat16:
      return launch(GaussianNoise<Half>(a));
    case DType::kBFloat16:
      return launch(GaussianNoise<BFloat16>(a));
    case DType::kFloat64:
      return launch(GaussianNoise<double>(a));
    default:
      return launch(GaussianNoise<float>(a));
  }
}

}  // namespace orbbec
