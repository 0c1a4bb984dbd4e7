#include "../../executors/cuda/tiles.h"
#include "statistics.h"

namespace orbbec {

int moments_cuda(const Moments& moments, int64_t count, void* stream) {
  return for_each_item_cuda(moments, count, static_cast<int>(moments.channels), stream);
}

}  // namespace orbbec
