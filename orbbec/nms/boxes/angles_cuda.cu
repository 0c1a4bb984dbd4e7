#include "../../executors/cuda/tiles.h"
#include "angles.h"

namespace orbbec {

int angles_cuda(const AnglesArguments& arguments, void* stream) {
  return dispatch_angles(arguments, [&](const auto& op) {
    return for_each_item_cuda(op, 1, arguments.count, stream);
  });
}

}  // namespace orbbec
