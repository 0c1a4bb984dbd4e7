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

  ORBBEC_HD int64_t groups() const { return (int64_t{a.width} + 3) / 4; }

  ORBBEC_HD float* row(int64_t n, int64_t i) const { return a.output + (n * a.rows + i) * a.width; }

  ORBBEC_HD void columns(int64_t n, int y, int first, int last) const {
    float* const to = row(n, y);
    for_each_noise_pixel<float, kKind>(a.noise, n, y, a.width, first, last,
                                       [to](int x, float value) { to[x] = value; });
  }

  // Where groups of four are contiguous and aligned to 16 bytes, as rows are that begin the output.
  ORBBEC_HD bool has_whole_groups() const { return a.width % 4 == 0; }
  ORBBEC_HD void whole_group(int64_t n, int64_t draw) const {
    float* const to = a.output + n * a.rows * a.width + 4 * draw;
    const PixelQuad<float> pixels = pixels_of<float, kKind>(noise_block(a.noise, n, draw));
    store_quad(to, pixels);
  }

  // Four neighbors of a row.
  ORBBEC_HD void operator()(int64_t n, int64_t draw) const {
    const int row = static_cast<int>(draw / groups());
    const int first = static_cast<int>(draw % groups()) * 4;
    columns(n, row, first, a.width - first < 4 ? a.width : first + 4);
  }
};

template <class Launch>
auto dispatch_philox_noise(const PhiloxNoiseArguments& a, const Launch& launch) {
  if (a.noise.kind == Noise::kNormal) return launch(PhiloxNoise<Noise::kNormal>{a});
  if (a.noise.kind == Noise::kCentered) return launch(PhiloxNoise<Noise::kCentered>{a});
  return launch(PhiloxNoise<Noise::kUniform>{a});
}

}  // namespace orbbec
