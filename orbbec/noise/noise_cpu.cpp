#include <algorithm>

#include "../executors/executor_cpu.h"
#include "noise.h"

namespace orbbec {
namespace {

constexpr int kPairs = 32;               // of neighbors in a row, whose noise is drawn together
constexpr int64_t kPixelsPerNormal = 4;  // the cost of a normal number, in pixels

#if defined(__x86_64__)
#define ORBBEC_AVX512DQ \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,prefer-vector-width=512")))
#else
#define ORBBEC_AVX512DQ
#endif

struct Words {
  uint32_t first[kPairs], second[kPairs];
};

// normals_of in loops that the compiler vectorizes.
ORBBEC_HD void normals_of_words(const Words& words, float* normals) {
  double square[kPairs], sine[kPairs], cosine[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    square[i] = -2 * natural_logarithm((static_cast<double>(words.first[i]) + 1) * 0x1p-32);
  }
  for (int i = 0; i < kPairs; ++i) {
    sine_cosine_degrees_in_range(static_cast<double>(words.second[i]) * (360 * 0x1p-32), sine[i],
                                 cosine[i]);
  }
  for (int i = 0; i < kPairs; ++i) {
    const double radius = sqrt(square[i]);
    normals[2 * i] = static_cast<float>(radius * cosine[i]);
    normals[2 * i + 1] = static_cast<float>(radius * sine[i]);
  }
}

// Neighbors in a row of a channel, starting at pixel 4 * group.
template <class T>
struct Run {
  const T* from;
  T* to;
  int64_t from_stride, to_stride;
  int length;
  double shift, scale;
  int64_t n, row, groups, group;
};

template <class T>
ORBBEC_HD Words words_of(const GaussianNoise<T>& op, const Run<T>& run) {
  Words words{};
  for (int i = 0; i < run.length; i += 4) {
    const PhiloxBlock block = noise_block(op.noise, run.n, run.row, run.groups, run.group + i / 4);
    for (int k = 0; k < 2; ++k) {
      words.first[i / 2 + k] = block.words[2 * k];
      words.second[i / 2 + k] = block.words[2 * k + 1];
    }
  }
  return words;
}

template <class T>
ORBBEC_HD void add_normals(const GaussianNoise<T>& op, const Run<T>& run, int64_t from_stride,
                           int64_t to_stride, const float* normals) {
  for (int i = 0; i < run.length; ++i) {
    run.to[i * to_stride] = op.noisy(run.from[i * from_stride], run.shift + run.scale * normals[i]);
  }
}

template <class T>
ORBBEC_HD void noisy_run(const GaussianNoise<T>& op, const Run<T>& run) {
  float normals[2 * kPairs];
  normals_of_words(words_of(op, run), normals);
  if (run.from_stride == 1 && run.to_stride == 1) {
    add_normals(op, run, 1, 1, normals);
  } else {
    add_normals(op, run, run.from_stride, run.to_stride, normals);
  }
}

template <class T>
void run_scalar(const GaussianNoise<T>& op, const Run<T>& run) {
  noisy_run(op, run);
}
template <class T>
ORBBEC_AVX2 void run_avx2(const GaussianNoise<T>& op, const Run<T>& run) {
  noisy_run(op, run);
}
template <class T>
ORBBEC_AVX512DQ void run_avx512(const GaussianNoise<T>& op, const Run<T>& run) {
  noisy_run(op, run);
}

template <class T>
using RunNoise = void (*)(const GaussianNoise<T>& op, const Run<T>& run);

template <class T>
RunNoise<T> best_run(const GaussianNoise<T>&) {
#if defined(__x86_64__)
  if (simd_level() == Simd::kAvx512 && __builtin_cpu_supports("avx512dq")) return run_avx512<T>;
#endif
  return simd_level() == Simd::kScalar ? run_scalar<T> : run_avx2<T>;
}

template <class T>
void noisy_row(const GaussianNoise<T>& op, RunNoise<T> add_noise, int64_t n, int64_t c, int y) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const int64_t row = c * to.height + y, groups = (int64_t{to.width} + 3) / 4;
  for (int64_t begin = 0; begin < to.width; begin += 2 * kPairs) {
    const int x = static_cast<int>(begin);
    add_noise(op, {.from = &from.at(y, x, c),
                   .to = &to.at(y, x, c),
                   .from_stride = from.stride_x,
                   .to_stride = to.stride_x,
                   .length = std::min(to.width - x, 2 * kPairs),
                   .shift = op.mean.of(n),
                   .scale = op.sigma.of(n),
                   .n = n,
                   .row = row,
                   .groups = groups,
                   .group = begin / 4});
  }
}

}  // namespace

void gaussian_noise_cpu(const GaussianNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_gaussian_noise(arguments, [&](const auto& op) {
    const auto add_noise = best_run(op);
    const int64_t channels = op.output.channels;
    const int64_t images = op.output.layout == nullptr ? 1 : op.output.count;
    const int64_t alike = op.output.layout == nullptr ? op.output.count : 1;
    for (int64_t image = 0; image < images; ++image) {
      const auto size = op.output[image];
      for_each_row_cpu(alike, size.height, size.width * channels * kPixelsPerNormal, parallel,
                       [&](int64_t n, int y) {
                         for (int64_t c = 0; c < channels; ++c)
                           noisy_row(op, add_noise, image + n, c, y);
                       });
    }
    return 0;
  });
}

}  // namespace orbbec
