#include "../../executors/executor_cpu.h"
#include "statistics.h"

namespace orbbec {

void moments_cpu(const Moments& moments, int64_t count, const ParallelFor& parallel) {
  for_each_item_cpu(moments, count, static_cast<int>(moments.channels), Moments::kLevels, parallel);
}

}  // namespace orbbec
