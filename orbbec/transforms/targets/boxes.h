// Upright boxes and points of targets, and what a pass of a plan leaves of them. In double,
// rounding each operation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../../plan/points/points.h"

namespace orbbec {

// A row of `move_boxes`. Edges are in pixels: pixel (0, 0) extends from 0 to 1.
struct TargetBox {
  double left, top, right, bottom;
  double visible;  // the visible part of the box
  double scale;    // by which the visible area changed
  double keep;     // 0 for a dropped box
};

constexpr int kTargetBoxNumbers = sizeof(TargetBox) / sizeof(double);

// Boxes below these are dropped.
struct BoxLimits {
  double visibility, side, area;
};

inline double area(const TargetBox& box) {
  return std::max(box.right - box.left, 0.0) * std::max(box.bottom - box.top, 0.0);
}

inline bool is_finite(const TargetBox& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) &&
         std::isfinite(box.bottom);
}

// The bounding box of the corners after a matrix; not finite if one of them is not.
inline void move_box(TargetBox& box, const ForwardMatrix& forward) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double xs[] = {box.left - 0.5, box.right - 0.5}, ys[] = {box.top - 0.5, box.bottom - 0.5};
  box.scale *= forward.growth((xs[0] + xs[1]) / 2, (ys[0] + ys[1]) / 2);
  box.left = box.top = kInfinity;
  box.right = box.bottom = -kInfinity;
  for (int corner = 0; corner < 4; ++corner) {
    double x = xs[corner & 1], y = ys[corner >> 1];
    forward.move(x, y);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      box.left = kInfinity;
      return;
    }
    box.left = std::min(box.left, x + 0.5), box.right = std::max(box.right, x + 0.5);
    box.top = std::min(box.top, y + 0.5), box.bottom = std::max(box.bottom, y + 0.5);
  }
}

// Clips a box to an image. With limits, drops it if too little is left; its size is compared with
// them after the last clip of a pass only. A box that is not finite is not visible.
inline void clip_box(TargetBox& box, double height, double width, const BoxLimits* limits,
                     bool is_last) {
  if (!is_finite(box)) box.left = box.top = box.right = box.bottom = 0;
  const auto clip = [](double value, double limit) {
    return value > 0 ? std::min(value, limit) : 0;
  };
  const double full = area(box);
  box.left = clip(box.left, width), box.right = clip(box.right, width);
  box.top = clip(box.top, height), box.bottom = clip(box.bottom, height);
  const double left = area(box), part = std::min(left / std::max(full, 1e-12), 1.0);
  box.visible *= part;
  box.scale *= part;
  if (limits == nullptr) return;
  const double side = std::min(box.right - box.left, box.bottom - box.top);
  const bool is_visible = left > 0 && box.visible >= limits->visibility - 1e-9;
  const bool is_large = side >= limits->side && left >= limits->area * (1 - 1e-9);
  if (!is_visible || (is_last && !is_large)) box.keep = 0;
}

// Clips a box to a crop, left, top, right, bottom, of whose pixels it is then.
inline void cut_box(TargetBox& box, const int64_t* crop, const BoxLimits* limits) {
  const auto left = static_cast<double>(crop[0]), top = static_cast<double>(crop[1]);
  box.left -= left, box.right -= left;
  box.top -= top, box.bottom -= top;
  clip_box(box, static_cast<double>(crop[3] - crop[1]), static_cast<double>(crop[2] - crop[0]),
           limits, false);
}

// What a pass leaves of a box: a crop, null for none, then a matrix, null for none, to an image.
inline void pass_box(TargetBox& box, const int64_t* crop, const ForwardMatrix* forward,
                     double height, double width, const BoxLimits* limits) {
  if (crop != nullptr) cut_box(box, crop, limits);
  if (forward != nullptr) move_box(box, *forward);
  clip_box(box, height, width, limits, true);
}

struct BoxFormat {
  int64_t numbers;    // of a box
  bool has_sides;     // width and height in place of right and bottom
  bool has_center;    // in place of left and top
  bool is_relative;   // to the size of the image
  bool has_any_ends;  // corners in any order

  bool is_upright() const { return numbers == 4; }
};

// The edges of an upright box, in pixels: pixel (0, 0) extends from 0 to 1. Or what a format has.
struct Box {
  double left, top, right, bottom;
};

// The edges of a box of an image of a size, from its numbers in an upright format.
inline Box edges_of(Box box, const BoxFormat& format, double height, double width) {
  const auto [x, y, right, bottom] = box;
  if (format.has_center) {
    box = {x - 0.5 * right, y - 0.5 * bottom, x + 0.5 * right, y + 0.5 * bottom};
  } else if (format.has_sides) {
    box = {x, y, x + right, y + bottom};
  }
  if (!format.is_relative) return box;
  return {box.left * width, box.top * height, box.right * width, box.bottom * height};
}

// The inverse of `edges_of`.
inline Box in_format(Box box, const BoxFormat& format, double height, double width) {
  if (format.is_relative)
    box = {box.left / width, box.top / height, box.right / width, box.bottom / height};
  const auto [left, top, right, bottom] = box;
  if (format.has_center) box.left = (left + right) / 2, box.top = (top + bottom) / 2;
  if (format.has_sides) box.right = right - left, box.bottom = bottom - top;
  return box;
}

// A position in pixels, with pixel centers at whole numbers.
struct TargetPoint {
  double x, y;
  double is_inside;  // 0 after it was outside of an image

  void check(double height, double width) {
    if (!(x >= -0.5 && x <= width - 0.5 && y >= -0.5 && y <= height - 0.5)) is_inside = 0;
  }
};

// A point after a pass; see `pass_box`.
inline void pass_point(TargetPoint& point, const int64_t* crop, const ForwardMatrix* forward,
                       double height, double width) {
  if (crop != nullptr) {
    point.x -= static_cast<double>(crop[0]);
    point.y -= static_cast<double>(crop[1]);
    point.check(static_cast<double>(crop[3] - crop[1]), static_cast<double>(crop[2] - crop[0]));
  }
  if (forward != nullptr) forward->move(point.x, point.y);
  point.check(height, width);
}

}  // namespace orbbec
