#include "../../executors/executor_cuda.h"
#include "reduce.h"

namespace orbbec {

int reduce_cuda(const ReduceArguments& arguments, void* stream) {
  return dispatch_reduce(arguments, [&](const auto& op, int64_t count, int items) {
    return for_each_item_cuda(op, count, items, stream);
  });
}

}  // namespace orbbec
