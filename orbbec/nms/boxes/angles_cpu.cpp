#include "../../executors/executor_cpu.h"
#include "angles.h"

namespace orbbec {

void angles_cpu(const AnglesArguments& arguments, const ParallelFor& parallel) {
  constexpr int64_t kPixelsPerAngle = 16;
  dispatch_angles(arguments, [&](const auto& op) {
    for_each_item_cpu(op, 1, arguments.count, kPixelsPerAngle, parallel);
  });
}

}  // namespace orbbec
