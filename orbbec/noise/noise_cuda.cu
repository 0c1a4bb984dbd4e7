#include "noise.h"
#include "noise_groups_cuda.h"

namespace orbbec {

int gaussian_noise_cuda(const GaussianNoiseArguments& arguments, void* stream) {
  return dispatch_functor<GaussianNoise>(arguments,
                                         [&](const auto& op) { return launch_noise(op, stream); });
}

}  // namespace orbbec
