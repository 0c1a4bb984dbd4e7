#include "../rows_cpu.h"
#include "convert.h"

namespace orbbec {

void cvt_color_cpu(const ConvertArguments& arguments, const ParallelFor& parallel) {
  dispatch_convert(arguments,
                   [&](const auto& pointwise) { return run_pointwise_cpu(pointwise, parallel); });
}

}  // namespace orbbec
