// philox_noise: a noise field per sample. Included by philox_cpu.cpp, philox_cuda.cu and
// binding.cpp.
#pragma once

#include "../../core/noise.h"

namespace orbbec {

// The rows of all channels of an image are numbered consecutively.
struct PhiloxNoiseArguments {
  NoiseKey noise;
  float* output;  // [count, rows, width]
  int64_t count;
  int rows, width;
};

template <Noise kKind>
struct PhiloxNoise {
  PhiloxNoiseArguments a;

  ORBBEC_HD void columns(int64_t n, int row, int first, int last) const {
    float* const to = a.output + (n * a.rows + row) * a.width;
    for_each_noise_pixel<float, kKind>(a.noise, n, row, a.width, first, last,
                                       [to](int x, float value) { to[x] = value; });
  }

  // Four neighbors of a row.
  ORBBEC_HD void operator()(int64_t n, int row, int group) const {
    const int first = group * 4;
    columns(n, row, first, a.width - first < 4 ? a.width : first + 4);
  }
};

template <class Launch>
int dispatch_philox_noise(const PhiloxNoiseArguments& a, const Launch& launch) {
  if (a.noise.kind == Noise::kNormal) return launch(PhiloxNoise<Noise::kNormal>{a});
  return launch(PhiloxNoise<Noise::kUniform>{a});
}

}  // namespace orbbec
