#include "kernels_cuda.h"
#include "planes_inside.h"

namespace orbbec {

int augment_planes_cuda(const AugmentArguments& arguments, const StoredImages& stored,
                        void* stream) {
  return dispatch_planes(arguments, stored,
                         [&](const auto& op) { return run_augment_cuda(op, stream); });
}

}  // namespace orbbec
