// nms: non-maximum suppression. Included by nms_*.cpp, nms_cuda.cu and binding.cpp.
#pragma once

#include <cmath>
#include <limits>

#include "box.h"
#include "greedy.h"

namespace orbbec {

struct NmsArguments {
  GreedyArguments greedy;
  const void* boxes;  // [N, 4], x1 y1 x2 y2, best first within a group; aligned to 16 bytes
  bool is_double;
  double threshold;
  double offset;
};

// A box is suppressed by a kept one if their IoU is greater than the threshold; never if the IoU is
// NaN.
template <class T>
struct OverlapRule {
  struct Item {
    Box<T> box;
    T area;
    int64_t group;
  };

  const AlignedBox<T>* boxes;
  const int64_t* groups;
  T threshold;  // the largest T not above the given threshold
  T offset;

  ORBBEC_HD Item item(int64_t rank) const {
    const Box<T> box = boxes[rank];
    return {box, box_area(box, offset), groups == nullptr ? 0 : groups[rank]};
  }

  ORBBEC_HD bool suppresses(const Item& earlier, const Item& later) const {
    if (earlier.group != later.group) return false;
    return box_iou(earlier.box, earlier.area, later.box, later.area, offset) > threshold;
  }

  // An IoU above the threshold needs an intersection longer than the threshold times either side,
  // so x2 + offset of one box is above x1 + threshold * side of the other. A hundredth of the side
  // and 1e-6 cover the rounding of the IoU where areas are not tiny.
  ORBBEC_HD Reach reach(const Item& item) const {
    if (!(threshold >= 0)) return {NAN, NAN, NAN, NAN};
    const T share = item.area > T(1e-30) ? larger(threshold * T(0.99) - T(1e-6), T(0)) : T(0);
    const Box<T>& box = item.box;
    return reach_of(box.x1 - offset + share * (box.x2 - box.x1 + offset),
                    box.y1 - offset + share * (box.y2 - box.y1 + offset), box.x2, box.y2);
  }
};

// A float exceeds a double if and only if it exceeds the largest float not greater than that
// double.
template <class T>
T rounded_down(double value) {
  const T nearest = static_cast<T>(value);
  return static_cast<double>(nearest) > value
             ? std::nextafter(nearest, -std::numeric_limits<T>::infinity())
             : nearest;
}

template <class T>
OverlapRule<T> overlap_rule(const NmsArguments& a) {
  return {static_cast<const AlignedBox<T>*>(a.boxes), a.greedy.groups, rounded_down<T>(a.threshold),
          static_cast<T>(a.offset)};
}

}  // namespace orbbec
