// erase: fills rectangles of images with numbers or noise. Included by erase_cpu.cpp, erase_cuda.cu
// and binding.cpp.
#pragma once

#include "../../core/image.h"
#include "../../core/noise.h"

namespace orbbec {

struct EraseArguments {
  AnyImages source, output;  // the same memory: only rectangles are written
  DType dtype;
  const int64_t*
      boxes;  // [N, rectangles, 4], or [1, rectangles, 4] for all: left, top, right, bottom
  int64_t boxes_stride, rectangles;
  const double* fills;  // [N or 1, rectangles or 1, C or 1]; null: `fill` everywhere
  int64_t fill_stride_n, fill_stride_k, fill_stride_c;
  double fill;
  NoiseKey noise;
};

// Half open, clipped to its image.
struct Rectangle {
  int left, top, right, bottom;

  ORBBEC_HD bool has_row(int y) const { return y >= top && y < bottom && left < right; }
};

ORBBEC_HD int clip_to(int64_t value, int limit) {
  return value < 0 ? 0 : value > limit ? limit : static_cast<int>(value);
}

template <class T>
struct Erase {
  using Value = T;

  Images<const T> source;
  Images<T> output;
  EraseArguments a;

  explicit Erase(const EraseArguments& arguments)
      : source(arguments.source), output(arguments.output), a(arguments) {}

  ORBBEC_HD bool in_place() const { return a.source.data == a.output.data; }

  ORBBEC_HD Rectangle rectangle(int64_t n, int64_t k, int height, int width) const {
    const int64_t* const box = a.boxes + n * a.boxes_stride + 4 * k;
    return {clip_to(box[0], width), clip_to(box[1], height), clip_to(box[2], width),
            clip_to(box[3], height)};
  }

  // Saturates what int cannot hold.
  ORBBEC_HD static T saturated(double fill) {
    return store<T>(std::is_integral_v<T> && fill > 65535 ? 65535.0 : fill);
  }

  ORBBEC_HD T fill_of(int64_t n, int64_t k, int64_t c) const {
    if (a.fills == nullptr) return saturated(a.fill);
    return saturated(a.fills[n * a.fill_stride_n + k * a.fill_stride_k + c * a.fill_stride_c]);
  }

  // Adds noise to columns of row y of channel c.
  ORBBEC_HD void add_noise(const Image<T>& to, int64_t n, int64_t c, int y, int first,
                           int last) const {
    const auto put = [&](int x, T value) { to.at(y, x, c) = value; };
    const int64_t row = c * to.height + y;
    if (a.noise.kind == Noise::kNormal) {
      for_each_noise_pixel<T, Noise::kNormal>(a.noise, n, row, to.width, first, last, put);
    } else {
      for_each_noise_pixel<T, Noise::kUniform>(a.noise, n, row, to.width, first, last, put);
    }
  }

  // A pixel of images of any strides: from the last rectangle that covers it, or from the source.
  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<T> to = output[n];
    if (!to.contains(y, x)) return;
    int64_t last = -1;
    for (int64_t k = 0; k < a.rectangles; ++k) {
      const Rectangle r = rectangle(n, k, to.height, to.width);
      if (r.has_row(y) && x >= r.left && x < r.right) last = k;
    }
    if (last < 0 && in_place()) return;
    const Image<const T> from = source[n];
    for (int64_t c = 0; c < output.channels; ++c) {
      if (last < 0) {
        to.at(y, x, c) = from.at(y, x, c);
      } else if (a.noise.kind == Noise::kNone) {
        to.at(y, x, c) = fill_of(n, last, c);
      } else {
        add_noise(to, n, c, y, x, x + 1);
      }
    }
  }
};

template <class Launch>
int dispatch_erase(const EraseArguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype, [&](auto value) { return launch(Erase<decltype(value)>(a)); });
}

}  // namespace orbbec
