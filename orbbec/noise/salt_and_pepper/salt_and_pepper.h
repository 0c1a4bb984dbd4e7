// salt_and_pepper: sets random pixels to one value, others to a second one. Included by
// salt_and_pepper_cpu.cpp, salt_and_pepper_cuda.cu and binding.cpp.
#pragma once

#include "../../core/image.h"
#include "../../core/noise.h"
#include "../../core/per_image.h"

namespace orbbec {

struct SaltAndPepperArguments {
  AnyImages source, output;
  DType dtype;
  NoiseKey noise;
  PerImage amount, salt_ratio;  // fractions: of the pixels that change, of these that become salt
  double salt, pepper;          // the values, in pixel units
};

// A pixel becomes salt below the first number, pepper from there to below the second.
struct SaltLimits {
  float salt, both;
};

template <class T>
struct SaltAndPepper {
  using Value = T;
  using Scale = SaltLimits;
  static constexpr Noise kKind = Noise::kUniform;
  static constexpr bool kSharesNumbers = true;

  Images<const T> source;
  Images<T> output;
  NoiseKey noise;
  PerImage amount, salt_ratio;
  T salt, pepper;

  explicit SaltAndPepper(const SaltAndPepperArguments& a)
      : source(a.source),
        output(a.output),
        noise(a.noise),
        amount(a.amount),
        salt_ratio(a.salt_ratio),
        salt(store<T>(static_cast<Compute<T>>(a.salt))),
        pepper(store<T>(static_cast<Compute<T>>(a.pepper))) {}

  ORBBEC_HD Scale scale_of(int64_t n) const {
    const double both = amount.of(n);
    return {static_cast<float>(both * salt_ratio.of(n)), static_cast<float>(both)};
  }

  // `number`: uniform, the same for all channels of a pixel.
  ORBBEC_HD T noisy(T pixel, const Scale& limits, float number) const {
    if (number < limits.salt) return salt;
    return number < limits.both ? pepper : pixel;
  }
};

}  // namespace orbbec
