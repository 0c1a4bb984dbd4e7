// Copies of half-precision images in float32, and back. Included by bridge/float_images.h.
#pragma once

#include "simd/halves.h"
#include "strips_cpu.h"

namespace orbbec {

// Whether the values of a row are contiguous, of all channels.
inline bool are_interleaved(const AnyImages& images) {
  return images.stride_c == 1 && images.stride_x == images.channels;
}

// Images of the sizes of others, in contiguous rows of float32. Images or channels that are one in
// memory, since they are expanded, are one here.
struct FloatLayout {
  AnyImages images;  // without memory
  int64_t count;     // of values

  explicit FloatLayout(const AnyImages& like) : images(like) {
    const int64_t pixels = int64_t{like.height} * like.width;
    const int64_t channels = like.stride_c == 0 ? 1 : like.channels;
    const bool interleaved = are_interleaved(like);
    count = (like.stride_n == 0 ? 1 : like.count) * channels * pixels;
    images.stride_x = interleaved ? channels : 1;
    images.stride_y = images.stride_x * like.width;
    images.stride_c = interleaved ? 1 : like.stride_c == 0 ? 0 : pixels;
    images.stride_n = like.stride_n == 0 ? 0 : channels * pixels;
  }
};

constexpr int kStridedValues = 256;  // that are converted together

// Values `step` apart to contiguous floats.
template <class T>
void widen_row(const T* from, int64_t step, float* to, int64_t count, Simd level) {
  if (step == 1) return to_floats(from, to, count, level);
  T values[kStridedValues];
  for (; count > 0; count -= kStridedValues, to += kStridedValues) {
    const int64_t part = std::min<int64_t>(count, kStridedValues);
    for (int64_t i = 0; i < part; ++i, from += step) values[i] = *from;
    to_floats(values, to, part, level);
  }
}

template <class T>
void narrow_row(const float* from, T* to, int64_t step, int64_t count, Simd level) {
  if (step == 1) return to_halves(from, to, count, level);
  T values[kStridedValues];
  for (; count > 0; count -= kStridedValues, from += kStridedValues) {
    const int64_t part = std::min<int64_t>(count, kStridedValues);
    to_halves(from, values, part, level);
    for (int64_t i = 0; i < part; ++i, to += step) *to = values[i];
  }
}

// Calls row(half, step, float, count) for the values of a row: the halves, `step` apart, and the
// contiguous floats of an image of a FloatLayout.
template <class Half, class Float, class Row>
void for_each_plane(const Image<Half>& halves, const Image<Float>& floats, const AnyImages& batch,
                    int y, const Row& row) {
  const bool interleaved = are_interleaved(batch);
  const int64_t values = interleaved ? batch.channels : 1;  // of a pixel, in a row
  const int64_t planes = interleaved || batch.stride_c == 0 ? 1 : batch.channels;
  const int64_t step = interleaved ? 1 : int64_t{halves.stride_x};
  for (int64_t c = 0; c < planes; ++c)
    row(&halves.at(y, 0, c), step, &floats.at(y, 0, c), halves.width * values);
}

// The same for all rows of a batch.
template <class T, class Row>
void for_each_float_row(AnyImages halves, AnyImages floats, const ParallelFor& parallel,
                        const Row& row) {
  if (halves.stride_n == 0) {  // one image, of which several may have visible regions
    halves.count = std::min<int64_t>(halves.count, 1);
    halves.regions = floats.regions = nullptr;
  }
  for_each_strip_cpu(halves, 1, parallel, [&](int64_t n, int y) {
    for_each_plane(Images<T>(halves)[n], Images<float>(floats)[n], halves, y, row);
  });
}

template <class T>
void widen_images(const AnyImages& halves, const AnyImages& floats, const ParallelFor& parallel) {
  const Simd level = simd_level();
  for_each_float_row<T>(halves, floats, parallel,
                        [&](const T* from, int64_t step, float* to, int64_t count) {
                          widen_row(from, step, to, count, level);
                        });
}

template <class T>
void narrow_images(const AnyImages& floats, const AnyImages& halves, const ParallelFor& parallel) {
  const Simd level = simd_level();
  for_each_float_row<T>(halves, floats, parallel,
                        [&](T* to, int64_t step, const float* from, int64_t count) {
                          narrow_row(from, to, step, count, level);
                        });
}

// Calls `run(T{})` with the type of half-precision values; not for another dtype.
template <class Run>
void with_half_type(DType dtype, const Run& run) {
  if (dtype == DType::kFloat16) run(Half{});
  if (dtype == DType::kBFloat16) run(BFloat16{});
}

}  // namespace orbbec
