#include <algorithm>

#include "../executors/noise_runs_cpu.h"
#include "noise.h"
#include "noisy_rows.h"

namespace orbbec {
namespace {

constexpr int64_t kPixelsPerNormal = 2;  // the cost of a normal number, in pixels

// Neighbors in a row of a channel.
template <class T>
struct Run {
  const T* from;
  T* to;
  int64_t from_stride, to_stride;
  NoiseScale<Compute<T>> scale;
  NoiseRun normals;
};

template <class T>
ORBBEC_HD void add_normals(const GaussianNoise<T>& op, const Run<T>& run, int64_t from_stride,
                           int64_t to_stride, const float* normals) {
  const Run<T> fixed = run;  // bytes that are stored could change `run`
  for (int i = 0; i < fixed.normals.length; ++i) {
    fixed.to[i * to_stride] = op.noisy(fixed.from[i * from_stride], fixed.scale, normals[i]);
  }
}

template <class Level, class T>
ORBBEC_HD void noisy_run(const GaussianNoise<T>& op, const Run<T>& run) {
  float normals[kRunLength];
  numbers_of_run<Level, Noise::kNormal>(op.noise, run.normals, normals);
  if (run.from_stride == 1 && run.to_stride == 1) {
    add_normals(op, run, 1, 1, normals);
  } else {
    add_normals(op, run, run.from_stride, run.to_stride, normals);
  }
}

template <class T>
using AddNoise = void (*)(const GaussianNoise<T>& op, const Run<T>& run);

template <class T>
void noisy_row(const GaussianNoise<T>& op, AddNoise<T> add_noise, int64_t n, int64_t c, int y) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  for (int64_t begin = 0; begin < to.width; begin += kRunLength) {
    const int x = static_cast<int>(begin);
    add_noise(op, {.from = &from.at(y, x, c),
                   .to = &to.at(y, x, c),
                   .from_stride = from.stride_x,
                   .to_stride = to.stride_x,
                   .scale = op.scale_of(n),
                   .normals = {.n = n,
                               .row = c * to.height + y,
                               .groups = (int64_t{to.width} + 3) / 4,
                               .group = begin / 4,
                               .length = std::min(to.width - x, kRunLength)}});
  }
}

}  // namespace

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_functor<GaussianNoise>(
      arguments, in_floats_only([&]<class T>(const GaussianNoise<T>& op) {
        const AddNoise<T> add_noise =
            compiled_to_avx512<noisy_run<ScalarNoise, T>, noisy_run<Avx2Noise, T>,
                               noisy_run<Avx512Noise, T>>(simd_level());
        for_each_noisy_row(op, kPixelsPerNormal, parallel, [&](int64_t n, int y) {
          for (int64_t c = 0; c < op.output.channels; ++c) noisy_row(op, add_noise, n, c, y);
        });
      }));
}

}  // namespace orbbec
