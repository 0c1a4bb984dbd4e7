#include "normalize.h"
#include "rows_cpu.h"

namespace orbbec {

void normalize_cpu(const NormalizeArguments& arguments, const ParallelFor& parallel) {
  dispatch_normalize(arguments,
                     [&](const auto& pointwise) { return run_pointwise_cpu(pointwise, parallel); });
}

}  // namespace orbbec
