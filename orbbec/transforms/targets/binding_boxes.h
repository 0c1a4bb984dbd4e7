// Checks of the arguments of the operators on boxes of targets. Included by binding.cpp and
// binding_draw.cpp.
#pragma once

#include "../../bridge/images.h"
#include "boxes.h"

namespace orbbec {

// The limits in a list, which is empty where no box is dropped.
inline BoxLimits checked_limits(const char* op, const std::vector<double>& limits) {
  check(limits.empty() || limits.size() == 3, op, "expected limits as 0 or 3 numbers, but got ",
        limits.size());
  return limits.empty() ? BoxLimits{} : BoxLimits{limits[0], limits[1], limits[2]};
}

}  // namespace orbbec
