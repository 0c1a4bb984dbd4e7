#include "../noise_groups_cuda.h"
#include "salt_and_pepper.h"

namespace orbbec {

int salt_and_pepper_cuda(const SaltAndPepperArguments& arguments, void* stream) {
  return dispatch_functor<SaltAndPepper>(arguments,
                                         [&](const auto& op) { return launch_noise(op, stream); });
}

}  // namespace orbbec
