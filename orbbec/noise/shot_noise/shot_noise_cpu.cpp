// shot_noise on the CPU. Bytes take their rates, and those of small counts, from tables.
#include <vector>

#include "../noisy_rows.h"
#include "shot_noise.h"

namespace orbbec {
namespace {

constexpr int64_t kPixelsPerCount = 20;  // the cost of a count, in pixels

// Of one image.
struct ByteTables {
  float rate[256], none[256];
  uint8_t of_count[256];

  explicit ByteTables(ShotScale scale) {
    for (int i = 0; i < 256; ++i) {
      rate[i] = rate_of(static_cast<float>(i) / 255, scale);
      none[i] = exponential(-rate[i]);
      of_count[i] = store<uint8_t>(value_of(static_cast<float>(i), scale) * 255);
    }
  }

  uint8_t noisy(uint8_t pixel, ShotScale scale, float uniform) const {
    const float count = poisson_quantile(rate[pixel], none[pixel], uniform);
    return count < 256 ? of_count[static_cast<int>(count)]
                       : store<uint8_t>(value_of(count, scale) * 255);
  }
};

template <class T, class Noisy>
void shot_row(const ShotNoise<T>& op, int64_t n, int y, const Noisy& noisy) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const auto scale = op.scale_of(n);
  for (int64_t c = 0; c < op.output.channels; ++c) {
    for_each_noise_pixel<float, Noise::kUniform>(
        op.noise, n, c * to.height + y, to.width, 0, to.width,
        [&](int x, float number) { to.at(y, x, c) = noisy(from.at(y, x, c), scale, number); });
  }
}

template <class T>
void run(const ShotNoise<T>& op, const ParallelFor& parallel) {
  std::vector<ByteTables> tables;
  if constexpr (std::is_same_v<T, uint8_t>) {
    for (int64_t n = 0; n < op.output.count; ++n) tables.emplace_back(op.scale_of(n));
  }
  for_each_noisy_row(op, kPixelsPerCount, parallel, [&](int64_t n, int y) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      shot_row(op, n, y, [&table = tables[n]](auto... of) { return table.noisy(of...); });
    } else {
      shot_row(op, n, y, [&](auto... of) { return op.noisy(of...); });
    }
  });
}

}  // namespace

void shot_noise_cpu(const ShotNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_functor<ShotNoise>(arguments,
                              in_floats_only([&](const auto& op) { run(op, parallel); }));
}

}  // namespace orbbec
