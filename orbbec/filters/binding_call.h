// Calls of filters from C++. Included by plan/binding_passes.h.
#pragma once

#include "../bridge/operator_call.h"

namespace orbbec {

// Sigma; height and width of the kernel, which are numbers for all.
Tensor run_gaussian_blur(const OperatorCall& call);

}  // namespace orbbec
