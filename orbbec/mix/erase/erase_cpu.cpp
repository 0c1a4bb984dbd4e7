#include <algorithm>

#include "../../executors/noise_runs_cpu.h"
#include "../../executors/strips_cpu.h"
#include "../copy_pixels_cpu.h"
#include "erase.h"

namespace orbbec {
namespace {

// For threads to share an image, of whose rows those with noise take long.
constexpr int kNoisyRows = 16;

// As pixels_of, from numbers; those of kUniform have the upper 24 bits of a word.
template <class T, Noise kKind>
ORBBEC_HD T pixel_of(float number) {
  if constexpr (kKind == Noise::kNormal) {
    return normal_pixel<T>(number);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int>(number * (1 << 8 * sizeof(T))));
  } else {
    return store<T>(number);
  }
}

// Pixels of a run in a row of a channel, `step` values apart, from pixel `first` of the run on.
template <class T>
using NoisyRun = void (*)(const NoiseKey& noise, const NoiseRun& run, int first, T* to,
                          int64_t step);
template <class Level, class T, Noise kKind>
ORBBEC_HD void noisy_run(const NoiseKey& noise, const NoiseRun& run, int first, T* to,
                         int64_t step) {
  float numbers[kRunLength];
  numbers_of_run<Level, kKind>(noise, run, numbers);
  if (step == 1) {
    for (int i = first; i < run.length; ++i) to[i] = pixel_of<T, kKind>(numbers[i]);
  } else {
    for (int i = first; i < run.length; ++i) to[i * step] = pixel_of<T, kKind>(numbers[i]);
  }
}

template <class T, Noise kKind>
NoisyRun<T> best_run() {
  return compiled_to_avx512<noisy_run<ScalarNoise, T, kKind>, noisy_run<Avx2Noise, T, kKind>,
                            noisy_run<Avx512Noise, T, kKind>>(simd_level());
}

template <class T>
void noise_row(const Erase<T>& op, NoisyRun<T> draw, int64_t n, int y, int first, int last) {
  const Image<T> to = op.output[n];
  for (int64_t c = 0; c < op.output.channels; ++c) {
    for (int64_t x = first / 4 * 4; x < last; x += kRunLength) {
      draw(op.a.noise,
           {.n = n,
            .row = c * to.height + y,
            .groups = (int64_t{to.width} + 3) / 4,
            .group = x / 4,
            .length = static_cast<int>(std::min<int64_t>(last - x, kRunLength))},
           static_cast<int>(std::max<int64_t>(first - x, 0)), &to.at(y, static_cast<int>(x), c),
           to.stride_x);
    }
  }
}

// Rows [top, bottom) of image n.
template <class T>
void erase_rows(const Erase<T>& op, NoisyRun<T> draw, int64_t n, int top, int bottom) {
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
      for (int y = first; y < last; ++y) noise_row(op, draw, n, y, r.left, r.right);
    }
  }
}

}  // namespace

void erase_cpu(const EraseArguments& arguments, const ParallelFor& parallel) {
  dispatch_erase(arguments, [&](const auto& op) {
    using T = typename std::decay_t<decltype(op)>::Value;
    const auto draw = op.a.noise.kind == Noise::kNormal ? best_run<T, Noise::kNormal>()
                                                        : best_run<T, Noise::kUniform>();
    int rows = strip_rows(op.output, sizeof(T));
    if (op.a.noise.kind != Noise::kNone) rows = std::min(rows, kNoisyRows);
    for_each_strip_cpu(op.output, rows, parallel, [&](int64_t n, int first) {
      const int64_t end = std::min<int64_t>(int64_t{first} + rows, op.output[n].height);
      erase_rows(op, draw, n, first, static_cast<int>(end));
    });
    return 0;
  });
}

}  // namespace orbbec
