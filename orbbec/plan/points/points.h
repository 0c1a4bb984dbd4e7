// How matrices change positions and areas. In double, rounding each operation.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace orbbec {

// A matrix of pixel positions: source to output.
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

}  // namespace orbbec
