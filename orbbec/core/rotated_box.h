// Rotated boxes and the overlap of two, in double whatever the boxes are given in, and the same
// wherever they lie and however large they are. Largest error of an IoU seen, against 160 bits:
// 3.2e-15; 5.4e-12 for nearly parallel slivers of 80,000 : 1, which grows with that ratio.
// Included by boxes and nms_rotated.
#pragma once

#include "elementary.h"

namespace orbbec {

// V is double, or a vector of them that holds one number of several boxes; an operation is the same
// for both, so a vector has the bits of its lanes.
template <class V>
struct RotatedBox {
  V cx, cy, half_width, half_height;
  V sine, cosine;  // of the angle, counter-clockwise on screen: y points down
  V area;
};

constexpr int kRotatedBoxNumbers = 7;

// Of cx, cy, width, height and angle in degrees. A box of which a number is NaN or infinite or a
// side is not above 0 overlaps nothing, itself included: its centre is NaN and its area 0.
template <class F>
ORBBEC_HD RotatedBox<double> rotated_box(const F* numbers) {
  const double width = numbers[2], height = numbers[3];
  RotatedBox<double> box;
  box.cx = numbers[0];
  box.cy = numbers[1];
  box.half_width = 0.5 * width;
  box.half_height = 0.5 * height;
  box.area = width * height;
  sine_cosine_degrees(numbers[4], box.sine, box.cosine);
  const double zero_if_finite =
      (box.cx - box.cx) + (box.cy - box.cy) + (box.area - box.area) + (box.sine - box.sine);
  if (!(width > 0 && height > 0 && zero_if_finite == 0)) {
    box.cx = NAN;
    box.area = 0;
  }
  return box;
}

// Where one box lies in the frame of another: the middle of its centre, and its half axes as turned
// by the difference of the angles.
template <class V>
struct RotatedPlace {
  V x, y, sine, cosine;
};

template <class V>
ORBBEC_HD RotatedPlace<V> place_of(const RotatedBox<V>& box, const RotatedBox<V>& frame) {
  const V dx = box.cx - frame.cx, dy = box.cy - frame.cy;
  return {dx * frame.cosine - dy * frame.sine, dx * frame.sine + dy * frame.cosine,
          box.sine * frame.cosine - box.cosine * frame.sine,
          box.cosine * frame.cosine + box.sine * frame.sine};
}

// Whether no side of `frame` separates the boxes. False where a number is NaN.
template <class V>
ORBBEC_HD auto sides_overlap(const RotatedPlace<V>& at, const RotatedBox<V>& box,
                             const RotatedBox<V>& frame) {
  const V sine = magnitude(at.sine), cosine = magnitude(at.cosine);
  return (magnitude(at.x) < frame.half_width + (box.half_width * cosine + box.half_height * sine)) &
         (magnitude(at.y) < frame.half_height + (box.half_width * sine + box.half_height * cosine));
}

// Whether two boxes share an area. False where a number is NaN.
template <class V>
ORBBEC_HD auto rotated_boxes_overlap(const RotatedBox<V>& a, const RotatedBox<V>& b) {
  return sides_overlap(place_of(b, a), b, a) & sides_overlap(place_of(a, b), a, b);
}

// The integral of min(max(y, 0), height) over x from x1 to x2, of which what lies outside of
// [-reach, reach] is left out, along the line from (x1, y1) to (x2, y2) of that slope. Continuous
// in every argument, so that parallel, shared and touching sides are no special cases.
template <class V>
ORBBEC_HD V area_below(V x1, V y1, V x2, V y2, V slope, V reach, V height) {
  const V from = smaller(larger(x1, -reach), reach), to = smaller(larger(x2, -reach), reach);
  const V y_from = y1 + slope * (from - x1), y_to = y2 + slope * (to - x2);
  const V low = smaller(y_from, y_to), high = larger(y_from, y_to), none = V{};
  const V inside_low = smaller(larger(low, none), height);
  const V inside_high = smaller(larger(high, none), height);
  const V above = larger(high, height) - larger(low, height);
  const V rise = high - low;
  const V sum = (inside_high - inside_low) * (0.5 * (inside_low + inside_high)) + above * height;
  const V mean = sum / (rise > none ? rise : none + 1.0);
  return (to - from) * (rise > none ? mean : inside_low);
}

// rise / run; 0 for a run so short that nothing lies below it.
template <class V>
ORBBEC_HD V slope_of(V rise, V run) {
  const V none = V{}, shortest = none + 1e-150;
  const V slope = rise / (magnitude(run) > shortest ? run : none + 1.0);
  return magnitude(run) > shortest ? slope : none;
}

// The area that two boxes share. In the frame of `a`, the length of a column of `b` inside of `a`
// is the difference of two sides of `b`, each cut off above and below; its integral over the
// columns is a sum over the sides. 0 where a number is NaN.
template <class V>
ORBBEC_HD V rotated_shared_area(const RotatedBox<V>& a, const RotatedBox<V>& b) {
  const RotatedPlace<V> at = place_of(b, a);
  const V across_x = b.half_width * at.cosine, across_y = -(b.half_width * at.sine);
  const V down_x = b.half_height * at.sine, down_y = b.half_height * at.cosine;
  const V across = slope_of(across_y, across_x), down = slope_of(down_y, down_x);
  const V x0 = at.x - across_x - down_x, x1 = at.x + across_x - down_x;
  const V x2 = at.x + across_x + down_x, x3 = at.x - across_x + down_x;
  const V middle = at.y + a.half_height, height = a.half_height + a.half_height;
  const V y0 = middle - across_y - down_y, y1 = middle + across_y - down_y;
  const V y2 = middle + across_y + down_y, y3 = middle - across_y + down_y;
  const V sides = area_below(x3, y3, x2, y2, across, a.half_width, height) -
                  area_below(x0, y0, x1, y1, across, a.half_width, height);
  const V ends = area_below(x0, y0, x3, y3, down, a.half_width, height) -
                 area_below(x1, y1, x2, y2, down, a.half_width, height);
  const V none = V{};
  const V area = smaller(smaller(larger(sides + ends, none), a.area), b.area);
  return rotated_boxes_overlap(a, b) ? area : none;
}

// Intersection over union; 0 where the boxes share nothing.
template <class V>
ORBBEC_HD V rotated_iou(const RotatedBox<V>& a, const RotatedBox<V>& b) {
  const V shared = rotated_shared_area(a, b), none = V{};
  const V all = a.area + b.area - shared;
  return shared > none ? shared / (shared > none ? all : none + 1.0) : none;
}

}  // namespace orbbec
