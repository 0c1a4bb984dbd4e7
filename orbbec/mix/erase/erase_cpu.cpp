#include <algorithm>

#include "../../executors/noise_runs_cpu.h"
#include "../../executors/strips_cpu.h"
#include "../copy_pixels_cpu.h"
#include "erase.h"

namespace orbbec {
namespace {

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

// Rows [top, bottom) of image n.
template <class T>
void erase_rows(const Erase<T>& op, int64_t n, int top, int bottom) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  if (!op.in_place())
    copy_pixels(op.source[n], top, 0, to, {top, 0, bottom - top, to.width}, channels);
  for (int64_t k = 0; k < op.a.rectangles; ++k) {
    const Rectangle r = op.rectangle(n, k, to.height, to.width);
    const int first = std::max(r.top, top), last = std::min(r.bottom, bottom);
    if (first >= last || r.left >= r.right) continue;
    if (op.a.noise.kind == Noise::kNone) {
      fill_pixels(to, {first, r.left, last - first, r.right - r.left}, channels,
                  [&](int64_t c) { return op.fill_of(n, k, c); });
    } else {
      for (int y = first; y < last; ++y) noise_row(op, to, n, y, r.left, r.right);
    }
  }
}

}  // namespace

void erase_cpu(const EraseArguments& arguments, const ParallelFor& parallel) {
  dispatch_erase(arguments, [&](const auto& op) {
    const bool is_noisy = op.a.noise.kind != Noise::kNone;  // a row takes long
    const int rows =
        is_noisy ? 1 : strip_rows(op.output, sizeof(typename std::decay_t<decltype(op)>::Value));
    for_each_strip_cpu(op.output, rows, parallel, [&](int64_t n, int first) {
      const int64_t end = std::min<int64_t>(int64_t{first} + rows, op.output[n].height);
      erase_rows(op, n, first, static_cast<int>(end));
    });
    return 0;
  });
}

}  // namespace orbbec
