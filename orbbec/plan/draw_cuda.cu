#include "../executors/cuda/tiles.h"
#include "draw_batch.h"

namespace orbbec {

int draw_cuda(const DrawArguments& arguments, void* stream) {
  const int count = static_cast<int>(arguments.count);
  return for_each_item_cuda(DrawImage{arguments}, 1, count, stream);
}

}  // namespace orbbec
