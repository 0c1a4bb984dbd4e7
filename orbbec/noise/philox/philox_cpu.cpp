#include "../../executors/noise_runs_cpu.h"
#include "philox.h"

namespace orbbec {
namespace {

template <Noise kKind>
void noise_cpu(const PhiloxNoise<kKind>& op, const ParallelFor& parallel) {
  const PhiloxNoiseArguments& a = op.a;
  for_each_row_cpu(a.count, a.rows, a.width, parallel, [&](int64_t n, int row) {
    float* const to = op.row(n, row);
    for_each_number_cpu<kKind>(a.noise, n, row, a.width, 0, a.width,
                               [to](int x, float number) { to[x] = number; });
  });
}

}  // namespace

void philox_noise_cpu(const PhiloxNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_philox_noise(arguments, [&](const auto& op) {
    noise_cpu(op, parallel);
    return 0;
  });
}

}  // namespace orbbec
