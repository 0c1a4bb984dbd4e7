#include <algorithm>
#include <cstring>

#include "../../executors/noise_runs_cpu.h"
#include "erase.h"

namespace orbbec {
namespace {

template <class T>
void copy_row(const Erase<T>& op, const Image<const T>& from, const Image<T>& to, int y) {
  const RowForm form = form_of(op.output);
  const bool alike = form == form_of(op.source);
  const size_t row_bytes = sizeof(T) * to.width;
  if (alike && form == RowForm::kPixels) {
    memcpy(&to.at(y, 0, 0), &from.at(y, 0, 0), row_bytes * op.output.channels);
    return;
  }
  for (int64_t c = 0; c < op.output.channels; ++c) {
    if (alike && form == RowForm::kPlanes) {
      memcpy(&to.at(y, 0, c), &from.at(y, 0, c), row_bytes);
    } else {
      for (int x = 0; x < to.width; ++x) to.at(y, x, c) = from.at(y, x, c);
    }
  }
}

// Writes the first pixel, then doubles the filled range with each copy.
template <class T>
void fill_pixels(const Erase<T>& op, const Image<T>& to, int64_t n, int64_t k, int y, int first,
                 int last) {
  const int64_t channels = op.output.channels, length = (last - first) * channels;
  T* const at = &to.at(y, first, 0);
  for (int64_t c = 0; c < channels; ++c) at[c] = op.fill_of(n, k, c);
  for (int64_t done = channels; done < length; done *= 2) {
    memcpy(at + done, at, sizeof(T) * std::min(done, length - done));
  }
}

template <class T>
void fill_row(const Erase<T>& op, const Image<T>& to, int64_t n, int64_t k, int y, int first,
              int last) {
  const RowForm form = form_of(op.output);
  if (form == RowForm::kPixels) return fill_pixels(op, to, n, k, y, first, last);
  for (int64_t c = 0; c < op.output.channels; ++c) {
    const T value = op.fill_of(n, k, c);
    if (form == RowForm::kPlanes) {
      std::fill_n(&to.at(y, first, c), last - first, value);
    } else {
      for (int x = first; x < last; ++x) to.at(y, x, c) = value;
    }
  }
}

template <class T>
void noise_row(const Erase<T>& op, const Image<T>& to, int64_t n, int y, int first, int last) {
  for (int64_t c = 0; c < op.output.channels; ++c) {
    if (op.a.noise.kind == Noise::kUniform) {
      op.add_noise(to, n, c, y, first, last);
    } else {
      const auto put = [&](int x, float normal) { to.at(y, x, c) = normal_pixel<T>(normal); };
      for_each_number_cpu<Noise::kNormal>(op.a.noise, n, c * to.height + y, to.width, first, last,
                                          put);
    }
  }
}

template <class T>
void erase_row(const Erase<T>& op, int64_t n, int y) {
  const Image<T> to = op.output[n];
  if (!op.in_place()) copy_row(op, op.source[n], to, y);
  for (int64_t k = 0; k < op.a.rectangles; ++k) {
    const Rectangle r = op.rectangle(n, k, to.height, to.width);
    if (!r.has_row(y)) continue;
    if (op.a.noise.kind == Noise::kNone) {
      fill_row(op, to, n, k, y, r.left, r.right);
    } else {
      noise_row(op, to, n, y, r.left, r.right);
    }
  }
}

}  // namespace

void erase_cpu(const EraseArguments& arguments, const ParallelFor& parallel) {
  dispatch_erase(arguments, [&](const auto& op) {
    const int64_t images = op.output.layout == nullptr ? 1 : op.output.count;
    for (int64_t image = 0; image < images; ++image) {
      const auto size = op.output[image];
      const int64_t alike = op.output.layout == nullptr ? op.output.count : 1;
      for_each_row_cpu(alike, size.height, size.width, parallel,
                       [&](int64_t n, int y) { erase_row(op, image + n, y); });
    }
    return 0;
  });
}

}  // namespace orbbec
