// What the operators of this folder run: blocks and streams on the host, fields of noise on any
// device. Included by philox_cpu.cpp, philox_cuda.cu and binding.cpp.
#pragma once

#include "../core/image.h"
#include "../core/noise.h"

namespace orbbec {

// A field of noise is a batch of images whose rows are those of all channels, one after the other.
struct PhiloxNoise {
  NoiseKey noise;
  float* output;  // [count, rows, width]
  int64_t count;
  int rows, width;

  int groups() const { return static_cast<int>((int64_t{width} + 3) / 4); }

  // Four neighbours of a row.
  ORBBEC_HD void operator()(int64_t n, int row, int group) const {
    float* const to = output + (n * rows + row) * width;
    const int first = group * 4, last = width - first < 4 ? width : first + 4;
    for_each_noise_pixel<float>(noise, n, row, width, first, last,
                                [to](int x, float value) { to[x] = value; });
  }
};

inline AnyImages groups_of(const PhiloxNoise& op) {
  AnyImages shape{};
  shape.count = op.count;
  shape.height = op.rows;
  shape.width = op.groups();
  return shape;
}

}  // namespace orbbec
