// Shared by the operators of this folder: which images are mixed, and the weighted mean of two
// values. Included by gather.h and blends.h.
#pragma once

#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

// Indices of images, on the device of the images, where the host cannot check them.
struct PairIndices {
  const int64_t* index;
  int64_t count;  // of the images

  static constexpr int64_t kNone = -1;

  ORBBEC_HD int64_t at(int64_t i) const {
    const int64_t pair_index = index[i];
    return pair_index >= 0 && pair_index < count ? pair_index : kNone;
  }
};

// The source pixel of an output pixel; image kNone: the fill.
struct SourcePixel {
  int64_t image;
  int y, x;
};

// Integers by cv2.addWeighted's rule: products in float32, the first fused into the sum, rounded
// half to even. Floats by torch's operations, each rounded to T. V is T, or holds its values.
template <class T, class V, class F = Compute<T>>
ORBBEC_HD T weighted_sum(V base, F base_weight, V other, F other_weight) {
  if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, uint16_t>) {
    return store<T>(fused_multiply_add(load(base), base_weight, load(other) * other_weight));
  } else {
    const T other_term = store<T>(load(other) * other_weight);
    const T base_term = store<T>(load(base) * base_weight);
    return store<T>(load(other_term) + load(base_term));
  }
}

}  // namespace orbbec
