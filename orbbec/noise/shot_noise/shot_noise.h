// shot_noise: counts of photons instead of their means. Included by shot_noise_cpu.cpp,
// shot_noise_cuda.cu and binding.cpp.
#pragma once

#include "../../core/image.h"
#include "../../core/noise.h"
#include "../../core/per_image.h"
#include "../../core/poisson.h"

namespace orbbec {

struct ShotNoiseArguments {
  AnyImages source, output;
  DType dtype;
  NoiseKey noise;
  PerImage scale;  // the linear light of a photon, as a fraction of that of the maximum value
};

constexpr float kLightGamma = 2.2f;  // light is a value to this power

struct ShotScale {
  float photon, photons;  // the light of one, and how many make the maximum value
};

// A value from 0 to 1 to a positive power; values below 2^-32 are 0.
ORBBEC_HD float fraction_to_power(float value, float exponent) {
  if (!(value >= 0x1p-32f)) return 0;
  const auto word = value < 1 ? static_cast<uint32_t>(value * 0x1p32f) - 1 : 0xffffffffu;
  return exponential(-0.5f * exponent * squared_radius_of(word));
}

// The photons that a value from 0 to 1 stands for.
ORBBEC_HD float rate_of(float value, ShotScale scale) {
  constexpr float kMaxRate = 1e12f;
  const float rate = fraction_to_power(value, kLightGamma) * scale.photons;
  return choose(rate > 0, smaller(rate, kMaxRate), 0.0f);
}

ORBBEC_HD float value_of(float count, ShotScale scale) {
  return fraction_to_power(count * scale.photon, 1 / kLightGamma);
}

// A value from 0 to 1 with the noise of a uniform number.
ORBBEC_HD_CALLED float shot_value(float value, ShotScale scale, float uniform) {
  const float rate = rate_of(value, scale);
  return value_of(poisson_quantile(rate, exponential(-rate), uniform), scale);
}

template <class T>
struct ShotNoise {
  using Value = T;
  using Scale = ShotScale;
  static constexpr Noise kKind = Noise::kUniform;
  static constexpr bool kSharesNumbers = false;
  static constexpr float kMaxValue = std::is_same_v<T, uint8_t> ? 255 : 1;

  Images<const T> source;
  Images<T> output;
  NoiseKey noise;
  PerImage scale;

  explicit ShotNoise(const ShotNoiseArguments& a)
      : source(a.source), output(a.output), noise(a.noise), scale(a.scale) {}

  ORBBEC_HD Scale scale_of(int64_t n) const {
    const auto photon = static_cast<float>(scale.of(n));
    return {photon, 1 / photon};
  }

  // In float32, also for float64 images.
  ORBBEC_HD T noisy(T pixel, const Scale& photons, float uniform) const {
    const float value = static_cast<float>(load(pixel)) / kMaxValue;
    return store<T>(shot_value(value, photons, uniform) * kMaxValue);
  }
};

}  // namespace orbbec
