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

// The noise of an image in its units.
template <class F>
struct NoiseScale {
  F mean, sigma;
};

template <class T>
struct GaussianNoise {
  using Value = T;
  using F = Compute<T>;
  using Scale = NoiseScale<F>;
  static constexpr Noise kKind = Noise::kNormal;
  static constexpr bool kSharesNumbers = false;
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

  ORBBEC_HD Scale scale_of(int64_t n) const {
    return {static_cast<F>(mean.of(n) * kMaxValue), static_cast<F>(sigma.of(n) * kMaxValue)};
  }

  // In float32 but for float64 images; every step is rounded.
  ORBBEC_HD T noisy(T pixel, const Scale& scale, float normal) const {
    const F sum = load(pixel) + (scale.mean + scale.sigma * normal);
    if constexpr (std::is_same_v<T, uint8_t>) {
      return byte_of(clamped(sum, 255.0f));
    } else {
      return store<T>(clip ? clamped(sum, F(1)) : sum);
    }
  }

  // To 0 and `top`; NaN becomes 0.
  ORBBEC_HD static F clamped(F value, F top) {
#if defined(__CUDA_ARCH__)  // half of the instructions, and the same values
    if constexpr (std::is_same_v<F, float>) return fminf(fmaxf(value, 0.0f), top);
#endif
    const F positive = choose(value > 0, value, F(0));
    return choose(positive < top, positive, top);
  }

  // Rounds half to even: adding 1.5 * 2^23 leaves the whole number in the low bits.
  ORBBEC_HD static uint8_t byte_of(float from_0_to_255) {
    return static_cast<uint8_t>(bits_of(from_0_to_255 + 0x1.8p23f));
  }
};

}  // namespace orbbec
