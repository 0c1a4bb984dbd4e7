#include "../executors/executor_cpu.h"
#include "scaleoffset.h"

namespace orbbec {

void scale_offset_cpu(const ScaleOffsetArguments& arguments, const ParallelFor& parallel) {
  dispatch_scale_offset(arguments, [&](const auto& op) {
    for_each_pixel_cpu(op, op.output, parallel);
    return 0;
  });
}

}  // namespace orbbec
