// The 3x3 matrix that maps four points to four others, in the order of operations of
// matrices/matrices.py, which is OpenCV's. Included by plan/geometry.h.
#pragma once

#include <cmath>

#include "called.h"

namespace orbbec {

struct FourPoints {
  double x[4], y[4];
};

// The equations of a matrix that maps `from` to `to`: rows of 8 factors and a right-hand side.
struct Equations {
  double rows[8][9];

  ORBBEC_HD Equations(const FourPoints& from, const FourPoints& to) {
    for (int i = 0; i < 8; ++i) {
      const int at = i % 4;
      const double x = from.x[at], y = from.y[at];
      const double goal = i < 4 ? to.x[at] : to.y[at];
      const double point[3] = {x, y, 1};
      for (int j = 0; j < 6; ++j) rows[i][j] = (j < 3) == (i < 4) ? point[j % 3] : 0;
      rows[i][6] = -product(x, goal), rows[i][7] = -product(y, goal);
      rows[i][8] = goal;
    }
  }

  // By LU with partial pivoting; false where there is no solution. Overwrites the equations.
  ORBBEC_HD bool solve(double (&x)[8]) {
    for (int k = 0; k < 8; ++k) {
      put_largest_first(k);
      if (fabs(rows[k][k]) < 100 * 0x1p-52) return false;
      const double scale = -1 / rows[k][k];
      for (int i = k + 1; i < 8; ++i) {
        const double factor = rows[i][k] * scale;
        for (int j = k + 1; j < 9; ++j) rows[i][j] += factor * rows[k][j];
      }
    }
    for (int i = 7; i >= 0; --i) {
      double value = rows[i][8];
      for (int j = i + 1; j < 8; ++j) value -= rows[i][j] * x[j];
      x[i] = value / rows[i][i];
    }
    return true;
  }

  // The length of the vector of errors.
  ORBBEC_HD double residual(const double (&x)[8]) const {
    double square = 0;
    for (const auto& row : rows) {
      double pairs[4];
      for (int j = 0; j < 4; ++j) pairs[j] = row[j] * x[j] + row[j + 4] * x[j + 4];
      const double error = ((pairs[0] + pairs[1]) + pairs[2]) + pairs[3] - row[8];
      square += error * error;
    }
    return sqrt(square);
  }

 private:
  // As OpenCV's, which holds points as float32.
  ORBBEC_HD static double product(double a, double b) {
    const bool fits = fabs(a) <= 0x1p24 && fabs(b) <= 0x1p24;
    return fits ? double{static_cast<float>(a) * static_cast<float>(b)} : a * b;
  }

  ORBBEC_HD void put_largest_first(int k) {
    int largest = k;
    for (int i = k + 1; i < 8; ++i)
      if (fabs(rows[i][k]) > fabs(rows[largest][k])) largest = i;
    for (int j = k; j < 9; ++j) {
      const double value = rows[k][j];
      rows[k][j] = rows[largest][j];
      rows[largest][j] = value;
    }
  }
};

// Twice the signed area of points a, b, c.
ORBBEC_HD double area_of(const FourPoints& p, int a, int b, int c) {
  return (p.x[b] - p.x[a]) * (p.y[c] - p.y[a]) - (p.y[b] - p.y[a]) * (p.x[c] - p.x[a]);
}

// The sum of values, which it overwrites; each value of the second half is added to one of the
// first.
ORBBEC_HD double sum_of(double* values, int count) {
  for (int half; count > 1; count = half) {
    half = (count + 1) / 2;
    for (int i = half; i < count; ++i) values[i - half] += values[i];
  }
  return values[0];
}

// The matrix with a Frobenius norm of 1, also where (0, 0) maps to infinity: the sum over three
// points of weight * `to` (outer) line through the other two. Zeros where three points are on a
// line.
ORBBEC_HD void matrix_of_unit_norm(double (&matrix)[9], const FourPoints& from,
                                   const FourPoints& to) {
  constexpr int kTriangles[3][3] = {{3, 1, 2}, {0, 3, 2}, {0, 1, 3}};
  const double whole = area_of(from, 0, 1, 2);
  double terms[9][3], squares[9], sign = 1;
  bool is_possible = whole != 0;
  for (int i = 0; i < 3; ++i) {
    const int (&t)[3] = kTriangles[i];
    const double area = area_of(from, t[0], t[1], t[2]);
    const double weight = area_of(to, t[0], t[1], t[2]) / area;
    is_possible = is_possible && area != 0;
    if (i == 0 && weight * whole < 0) sign = -1;
    const int a = (i + 1) % 3, b = (i + 2) % 3;
    const double line[3] = {from.y[a] - from.y[b], from.x[b] - from.x[a],
                            from.x[a] * from.y[b] - from.x[b] * from.y[a]};
    const double goal[3] = {weight * to.x[i], weight * to.y[i], weight};
    for (int j = 0; j < 9; ++j) terms[j][i] = goal[j / 3] * line[j % 3];
  }
  for (int j = 0; j < 9; ++j) {
    matrix[j] = sum_of(terms[j], 3);
    squares[j] = matrix[j] * matrix[j];
  }
  const double square = sum_of(squares, 9), norm = sign * sqrt(square);
  for (double& entry : matrix) entry = is_possible && square > 0 ? entry / norm : 0;
}

ORBBEC_HD void matrix_between(double (&matrix)[9], const FourPoints& from, const FourPoints& to) {
  double x[8];
  if (!Equations(from, to).solve(x) || !(Equations(from, to).residual(x) < 1e-8))
    return matrix_of_unit_norm(matrix, from, to);
  for (int i = 0; i < 8; ++i) matrix[i] = x[i];
  matrix[8] = 1;
}

}  // namespace orbbec
