// A call of `augment_crop` from C++. Included by augment/crop/binding.cpp and plan/binding_run.cpp.
#pragma once

#include "../../resize/binding_call.h"
#include "../binding_call.h"

namespace orbbec {

// Defined in augment/crop/binding.cpp. `augment` has no images, sampling and size: these are those
// of `crop`.
Tensor run_augment_crop(const ResizeCall& crop, AugmentCall augment);

}  // namespace orbbec
