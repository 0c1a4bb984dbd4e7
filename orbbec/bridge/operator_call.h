// A call of an operator from a program. Included by the bindings of these operators and
// plan/binding_run.cpp.
#pragma once

#include <vector>

#include "../core/per_image.h"
#include "torch_api.h"

namespace orbbec {

struct OperatorCall {
  Tensor images;  // [N, C, H, W], N at least 1
  std::vector<PerImage> arguments;
  const double* drawn;  // [N] on the device of the images: 0 where an image stays; null: none does
  bool is_temporary;    // whether the images may be overwritten
};

}  // namespace orbbec
