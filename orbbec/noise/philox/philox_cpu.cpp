#include "../../executors/normals_cpu.h"
#include "philox.h"

namespace orbbec {

// Uniform numbers without AVX2: the compiler's vectorized rounds take twice as long as scalar ones.
void philox_noise_cpu(const PhiloxNoiseArguments& arguments, const ParallelFor& parallel) {
  dispatch_philox_noise(arguments, [&](const auto& op) {
    for_each_row_cpu(
        arguments.count, arguments.rows, arguments.width, parallel, [&](int64_t n, int row) {
          if (arguments.noise.kind == Noise::kUniform)
            return op.columns(n, row, 0, arguments.width);
          float* const to = op.row(n, row);
          for_each_normal_cpu(arguments.noise, n, row, arguments.width, 0, arguments.width,
                              [to](int x, float normal) { to[x] = normal; });
        });
    return 0;
  });
}

}  // namespace orbbec
