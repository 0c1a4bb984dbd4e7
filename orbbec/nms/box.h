// Corner boxes and the overlap of two. The operations and their order are torchvision's, so that
// IoUs are bit-identical. F is a number or a vector of numbers. Included by nms, soft_nms and
// boxes.
#pragma once

#include "../core/common.h"

namespace orbbec {

template <class F>
struct Box {
  F x1, y1, x2, y2;
};

// A box in memory that one or two instructions load.
template <class F>
struct alignas(16) AlignedBox : Box<F> {};

template <class F>
ORBBEC_HD Box<F> load_box(const F* numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

// `offset` is 0, or 1 for boxes whose corners are the first and last pixel. Negative for a box that
// is inverted along one side, as in torchvision.
template <class F>
ORBBEC_HD F box_area(const Box<F>& box, F offset = F{}) {
  return (box.x2 - box.x1 + offset) * (box.y2 - box.y1 + offset);
}

// The length of the intersection of [a1, a2] and [b1, b2].
template <class F>
ORBBEC_HD F shared_length(F a1, F a2, F b1, F b2, F offset) {
  const F first = a1 > b1 ? a1 : b1, last = a2 < b2 ? a2 : b2;
  const F length = last - first + offset, zero = offset - offset;
  return length > zero ? length : zero;
}

template <class F>
ORBBEC_HD F shared_area(const Box<F>& a, const Box<F>& b, F offset = F{}) {
  return shared_length(a.x1, a.x2, b.x1, b.x2, offset) *
         shared_length(a.y1, a.y2, b.y1, b.y2, offset);
}

// Intersection over union. NaN where both are 0 or infinite, or where a box contains NaN; a
// comparison with a threshold is then false, so the pair does not overlap.
template <class F>
ORBBEC_HD F box_iou(const Box<F>& a, F area_a, const Box<F>& b, F area_b, F offset = F{}) {
  const F shared = shared_area(a, b, offset);
  return shared / (area_a + area_b - shared);
}

}  // namespace orbbec
