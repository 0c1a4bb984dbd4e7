// Upright boxes and points of targets, and what a pass of a plan leaves of them. In double,
// rounding each operation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

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

// A matrix of pixels of a batch: source to output.
struct ForwardMatrix {
  double m[9];

  // The inverse of output to source, by elimination with partial pivots; NaN if it is singular.
  static ForwardMatrix inverse_of(const double* matrix) {
    double rows[3][6] = {};
    for (int i = 0; i < 3; ++i) {
      std::copy_n(matrix + 3 * i, 3, rows[i]);
      rows[i][3 + i] = 1;
    }
    bool is_singular = false;
    for (int k = 0; k < 3; ++k) {
      int pivot = k;
      for (int i = k + 1; i < 3; ++i)
        if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
      std::swap(rows[k], rows[pivot]);
      is_singular |= rows[k][k] == 0;
      for (int i = k + 1; i < 3; ++i) subtract(rows[i], rows[k], rows[i][k] / rows[k][k]);
    }
    ForwardMatrix result{};
    for (int i = 2; i >= 0; --i) {
      for (int k = 2; k > i; --k) subtract(rows[i], rows[k], rows[i][k]);
      const double pivot = is_singular ? nan() : rows[i][i];
      for (double& value : rows[i]) value /= pivot;
      std::copy_n(rows[i] + 3, 3, result.m + 3 * i);
    }
    return result;
  }

  bool is_affine() const { return m[6] == 0 && m[7] == 0 && m[8] == 1; }

  double weight(double x, double y) const { return x * m[6] + y * m[7] + m[8]; }

  // Moves a pixel position; NaN behind the viewer of a perspective.
  void move(double& x, double& y) const {
    const double w = weight(x, y), u = x * m[0] + y * m[1] + m[2];
    y = x * m[3] + y * m[4] + m[5];
    x = u;
    if (is_affine()) return;
    const bool is_seen = (m[8] < 0 ? -w : w) > 1e-12;
    x = is_seen ? x / w : nan();
    y = is_seen ? y / w : nan();
  }

  // The factor by which it changes areas at a pixel position.
  double growth(double x, double y) const {
    if (is_affine()) return std::abs(m[0] * m[4] - m[1] * m[3]);
    const double determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) -
                               m[1] * (m[3] * m[8] - m[5] * m[6]) +
                               m[2] * (m[3] * m[7] - m[4] * m[6]);
    const double w = std::abs(weight(x, y)), growth = std::abs(determinant) / (w * w * w);
    if (w == 0 || std::isnan(growth)) return 0;
    return std::min(growth, std::numeric_limits<double>::max());
  }

 private:
  static double nan() { return std::numeric_limits<double>::quiet_NaN(); }

  static void subtract(double (&row)[6], const double (&other)[6], double factor) {
    if (factor == 0) return;  // the other row may not be finite
    for (int i = 0; i < 6; ++i) row[i] -= factor * other[i];
  }
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
