#include "../../executors/executor_cuda.h"
#include "philox.h"

namespace orbbec {

// A thread owns four neighbors of a row.
int philox_noise_cuda(const PhiloxNoiseArguments& arguments, void* stream) {
  AnyImages groups{};
  groups.count = arguments.count;
  groups.height = arguments.rows;
  groups.width = static_cast<int>((int64_t{arguments.width} + 3) / 4);
  return dispatch_philox_noise(
      arguments, [&](const auto& op) { return for_each_pixel_cuda(op, groups, stream); });
}

}  // namespace orbbec
