// The short form of a step on groups of colors. Included by augment_rows.h.
#pragma once

#include <cstring>

#include "../store_lanes.h"

namespace orbbec {

// kLanes colors. Returns false, and changes nothing, where a result is not certain.
template <bool kFused, class Step>
ORBBEC_HD bool run_short_form(const Step& step, float* r, float* g, float* b) {
  float* const planes[3] = {r, g, b};
  alignas(64) float results[3][kLanes];
  unsigned certain = 1;
  for (int c = 0; c < 3; ++c) {
    const float* const values = planes[c];
    for (int i = 0; i < kLanes; ++i)
      certain &= step.template short_form<kFused>(values[i], results[c][i]);
  }
  for (int c = 0; c < 3 && certain != 0; ++c) memcpy(planes[c], results[c], sizeof(results[c]));
  return certain != 0;
}

}  // namespace orbbec
