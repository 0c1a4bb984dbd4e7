// nms_rotated: non-maximum suppression of rotated boxes. Included by nms_rotated_cpu.cpp,
// nms_rotated_cuda.cu and binding.cpp.
#pragma once

#include "../greedy.h"
#include "../rotated_box.h"

namespace orbbec {

struct NmsRotatedArguments {
  GreedyArguments greedy;
  const void* boxes;  // [N, 5], cx cy w h degrees, best first within a group
  bool is_double;
  double threshold;
};

// A box is suppressed by a kept one if their IoU, in double, is greater than the threshold.
template <class T>
struct RotatedOverlapRule {
  struct Item {
    RotatedBox<double> box;
    int64_t group;
  };

  const T* boxes;
  const int64_t* groups;
  double threshold;

  explicit RotatedOverlapRule(const NmsRotatedArguments& a)
      : boxes(static_cast<const T*>(a.boxes)), groups(a.greedy.groups), threshold(a.threshold) {}

  ORBBEC_HD Item item(int64_t rank) const {
    return {rotated_box(boxes + 5 * rank), groups == nullptr ? 0 : groups[rank]};
  }

  ORBBEC_HD bool suppresses(const Item& earlier, const Item& later) const {
    if (earlier.group != later.group) return false;
    if (threshold >= 0 && !rotated_boxes_overlap(earlier.box, later.box)) return false;
    return rotated_iou(earlier.box, later.box) > threshold;
  }

  // A circle around the box, 1 % wider: two that are apart leave a gap that rounding cannot close.
  ORBBEC_HD Reach reach(const Item& item) const {
    if (!(threshold >= 0)) return {NAN, NAN, NAN, NAN};
    const RotatedBox<double>& box = item.box;
    const double radius = 1.01 * (box.half_width + box.half_height);
    return reach_of(box.cx - radius, box.cy - radius, box.cx + radius, box.cy + radius);
  }
};

}  // namespace orbbec
