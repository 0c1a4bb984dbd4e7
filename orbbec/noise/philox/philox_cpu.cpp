#include "../../executors/executor_cpu.h"
#include "philox.h"

namespace orbbec {

// Without AVX2: the compiler's vectorized rounds take twice as long as scalar ones.
void philox_noise_cpu(const PhiloxNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_philox_noise(arguments, [&](const auto& op) {
    for_each_row_cpu(arguments.count, arguments.rows, arguments.width, parallel,
                     [&](int64_t n, int row) { op.columns(n, row, 0, arguments.width); });
    return 0;
  });
}

}  // namespace orbbec
