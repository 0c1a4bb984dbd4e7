#include <algorithm>

#include "../../executors/noise_runs_cpu.h"
#include "philox.h"

namespace orbbec {
namespace {

template <Noise kKind>
void noise_row(const PhiloxNoise<kKind>& op, DrawRun draw, int64_t n, int row) {
  const int width = op.a.width;
  float numbers[kRunLength];
  for (int64_t x = 0; x < width; x += kRunLength) {
    const int length = static_cast<int>(std::min<int64_t>(width - x, kRunLength));
    draw(op.a.noise, {.n = n, .row = row, .groups = op.groups(), .group = x / 4, .length = length},
         numbers);
    std::copy_n(numbers, length, op.row(n, row) + x);
  }
}

}  // namespace

void philox_noise_cpu(const PhiloxNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_philox_noise(arguments, [&]<Noise kKind>(const PhiloxNoise<kKind>& op) {
    const DrawRun draw = draw_run<kKind>(simd_level());
    for_each_row_cpu(op.a.count, op.a.rows, op.a.width, parallel,
                     [&](int64_t n, int row) { noise_row(op, draw, n, row); });
  });
}

}  // namespace orbbec
