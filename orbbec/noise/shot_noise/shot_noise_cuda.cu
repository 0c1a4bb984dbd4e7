#include "../noise_groups_cuda.h"
#include "shot_noise.h"

namespace orbbec {

int shot_noise_cuda(const ShotNoiseArguments& arguments, void* stream) {
  return dispatch_functor<ShotNoise>(arguments,
                                     [&](const auto& op) { return launch_noise(op, stream); });
}

}  // namespace orbbec
