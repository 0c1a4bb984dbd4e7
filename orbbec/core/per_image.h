// One number per image, or one for all. Included by color/ and noise/.
#pragma once

#include "common.h"

namespace orbbec {

struct PerImage {
  const double* each;  // [N], on the device of the images; or null
  double one;

  ORBBEC_HD double of(int64_t n) const { return each != nullptr ? each[n] : one; }
};

}  // namespace orbbec
