// Copies of half-precision images in float32, and back. Included by bridge/float_images.h.
#pragma once

#include "simd/halves.h"
#include "strips_cpu.h"

namespace orbbec {

// Images of the sizes of others, in contiguous rows of float32. What shares memory there, such as
// expanded channels, does so here.
struct FloatLayout {
  AnyImages images;  // without memory
  int64_t count;     // of values
  bool interleaved;

  explicit FloatLayout(const AnyImages& like) : images(like) {
    const int64_t pixels = int64_t{like.height} * like.width;
    const int64_t channels = like.stride_c == 0 ? 1 : like.channels;
    interleaved = like.stride_c == 1 && like.stride_x == like.channels;
    count = (like.stride_n == 0 ? 1 : like.count) * channels * pixels;
    images.stride_x = interleaved ? channels : 1;
    images.stride_y = images.stride_x * like.width;
    images.stride_c = interleaved ? 1 : like.stride_c == 0 ? 0 : pixels;
    images.stride_n = like.stride_n == 0 ? 0 : channels * pixels;
  }
};

// Calls row(half, float, step, count) for the contiguous floats of each row, and the halves that
// are `step` apart.
template <class T, class Row>
void for_each_float_row(AnyImages halves, AnyImages floats, const ParallelFor& parallel,
                        const Row& row) {
  const bool interleaved = FloatLayout(halves).interleaved;
  const int64_t channels = interleaved || halves.stride_c == 0 ? 1 : halves.channels;
  const int64_t values = interleaved ? halves.channels : 1;  // of a pixel, in a row
  if (halves.stride_n == 0) {  // one image, of which several may have visible regions
    halves.count = std::min<int64_t>(halves.count, 1);
    halves.regions = floats.regions = nullptr;
  }
  for_each_strip_cpu(halves, 1, parallel, [&](int64_t n, int y) {
    const Image<T> half = Images<T>(halves)[n];
    const Image<float> copy = Images<float>(floats)[n];
    const int64_t count = half.width * values;
    for (int64_t c = 0; c < channels; ++c)
      row(&half.at(y, 0, c), &copy.at(y, 0, c), interleaved ? 1 : int64_t{half.stride_x}, count);
  });
}

constexpr int kStridedValues = 256;  // that are converted together

template <class T>
void widen_images(const AnyImages& halves, const AnyImages& floats, const ParallelFor& parallel) {
  const Simd level = simd_level();
  for_each_float_row<T>(halves, floats, parallel, [&](T* from, float* to, int64_t step, int64_t count) {
    if (step == 1) return to_floats(from, to, count, level);
    T values[kStridedValues];
    for (; count > 0; count -= kStridedValues, to += kStridedValues) {
      const int64_t part = std::min<int64_t>(count, kStridedValues);
      for (int64_t i = 0; i < part; ++i, from += step) values[i] = *from;
      to_floats(values, to, part, level);
    }
  });
}

template <class T>
void narrow_images(const AnyImages& floats, const AnyImages& halves, const ParallelFor& parallel) {
  const Simd level = simd_level();
  for_each_float_row<T>(halves, floats, parallel, [&](T* to, float* from, int64_t step, int64_t count) {
    if (step == 1) return to_halves(from, to, count, level);
    T values[kStridedValues];
    for (; count > 0; count -= kStridedValues, from += kStridedValues) {
      const int64_t part = std::min<int64_t>(count, kStridedValues);
      to_halves(from, values, part, level);
      for (int64_t i = 0; i < part; ++i, to += step) *to = values[i];
    }
  });
}

// Calls `run(T{})` with the type of half-precision values; not for another dtype.
template <class Run>
void with_half_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat16) run(Half{});
  if (dtype == DType::kBFloat16) run(BFloat16{});
}

}  // namespace orbbec
