#include "kernels_cuda.h"

namespace orbbec {

int augment_cuda(const AugmentArguments& arguments, void* stream) {
  return dispatch_augment(arguments, [&](const auto& op) { return run_augment_cuda(op, stream); });
}

}  // namespace orbbec
