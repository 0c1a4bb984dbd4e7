#include "../rows_cpu.h"
#include "adjust.h"
#include "sharpen_cpu.h"

namespace orbbec {

void adjust_cpu(const AdjustArguments& arguments, const ParallelFor& parallel) {
  dispatch_adjust(arguments,
                  [&](const auto& pointwise) { return run_pointwise_cpu(pointwise, parallel); });
}

}  // namespace orbbec
