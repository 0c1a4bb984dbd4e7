// What the operators of this folder share: which image is mixed with which, and the mean of two
// values by weights. Included by moves.h and blends.h.
#pragma once

#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

// Indices of images, on the device of the images, where no check on the host sees them.
struct Partners {
  const int64_t* index;
  int64_t count;  // of the images

  static constexpr int64_t kNone = -1;

  ORBBEC_HD int64_t at(int64_t i) const {
    const int64_t partner = index[i];
    return partner >= 0 && partner < count ? partner : kNone;
  }
};

// A pixel of an image; image kNone: the fill.
struct Place {
  int64_t image;
  int y, x;
};

// Whole numbers by cv2.addWeighted's rule: products in float32, the first fused into the sum,
// rounded half to even. Floats by torch's operations one by one, each rounded to T.
template <class T, class F = Compute<T>>
ORBBEC_HD T weighted_sum(T own, F own_weight, T other, F other_weight) {
  if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, uint16_t>) {
    return store<T>(fused_multiply_add(load(own), own_weight, load(other) * other_weight));
  } else {
    const T other_part = store<T>(load(other) * other_weight);
    const T own_part = store<T>(load(own) * own_weight);
    return store<T>(load(other_part) + load(own_part));
  }
}

}  // namespace orbbec
