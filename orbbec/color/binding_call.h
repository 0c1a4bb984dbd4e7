// Calls of color operators from C++. Included by plan/binding_passes.h.
#pragma once

#include "../bridge/operator_call.h"

namespace orbbec {

// The factor. Defined in color/adjust/binding_adjust.cpp.
Tensor run_adjust_sharpness(const OperatorCall& call);

// No arguments. Defined in color/tables/binding_tables.cpp.
Tensor run_autocontrast(const OperatorCall& call);
Tensor run_equalize(const OperatorCall& call);

}  // namespace orbbec
