#include "../../executors/executor_cpu.h"
#include "../noisy_rows.h"
#include "salt_and_pepper.h"

namespace orbbec {
namespace {

constexpr int64_t kPixelsPerNumber = 2;  // the cost of a random number, in pixels

template <class T>
void salted_row(const SaltAndPepper<T>& op, int64_t n, int y) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const auto limits = op.scale_of(n);
  for_each_noise_pixel<float, Noise::kUniform>(
      op.noise, n, y, to.width, 0, to.width, [&](int x, float number) {
        for (int64_t c = 0; c < op.output.channels; ++c)
          to.at(y, x, c) = op.noisy(from.at(y, x, c), limits, number);
      });
}

}  // namespace

void salt_and_pepper_cpu(const SaltAndPepperArguments& arguments, const ParallelFor& parallel) {
  dispatch_functor<SaltAndPepper>(arguments, [&](const auto& op) {
    for_each_noisy_row(op, kPixelsPerNumber, parallel,
                       [&](int64_t n, int y) { salted_row(op, n, y); });
  });
}

}  // namespace orbbec
