// Inverts matrices like cv::warpAffine and cv::warpPerspective: in double, rounding each operation,
// in this order.
#pragma once

#include "common.h"

namespace orbbec {

// Inverts one source-to-output matrix of a batch (or copies an output-to-source one) and stores it
// as F. 6 or 9 numbers; 6 are completed to 9 by the row 0, 0, 1. A singular matrix becomes zeros.
template <class In, class F>
struct PrepareMatrix {
  const In* matrices;
  F* prepared;
  int64_t input_size, size;  // numbers of a matrix before and after
  bool inverse;

  ORBBEC_HD void operator()(int64_t n, int) const {
    double a[9] = {}, m[9] = {};
    for (int i = 0; i < 9; ++i)
      a[i] = i < input_size ? static_cast<double>(matrices[n * input_size + i]) : i == 8;
    if (inverse) {
      for (int i = 0; i < 9; ++i) m[i] = a[i];
    } else if (size == 6) {
      invert_affine(a, m);
    } else {
      invert_perspective(a, m);
    }
    for (int i = 0; i < 9; ++i)
      if (i < size) prepared[n * size + i] = static_cast<F>(m[i]);
  }

  ORBBEC_HD static void invert_affine(const double a[6], double m[6]) {
    double d = a[0] * a[4] - a[1] * a[3];
    d = d != 0 ? 1.0 / d : 0.0;
    m[0] = a[4] * d;
    m[1] = a[1] * -d;
    m[3] = a[3] * -d;
    m[4] = a[0] * d;
    m[2] = -m[0] * a[2] - m[1] * a[5];
    m[5] = -m[3] * a[2] - m[4] * a[5];
  }

  ORBBEC_HD static void invert_perspective(const double a[9], double m[9]) {
    double d = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
               a[2] * (a[3] * a[7] - a[4] * a[6]);
    if (d == 0) {
      for (int i = 0; i < 9; ++i) m[i] = 0;
      return;
    }
    d = 1.0 / d;
    m[0] = (a[4] * a[8] - a[5] * a[7]) * d;
    m[1] = (a[2] * a[7] - a[1] * a[8]) * d;
    m[2] = (a[1] * a[5] - a[2] * a[4]) * d;
    m[3] = (a[5] * a[6] - a[3] * a[8]) * d;
    m[4] = (a[0] * a[8] - a[2] * a[6]) * d;
    m[5] = (a[2] * a[3] - a[0] * a[5]) * d;
    m[6] = (a[3] * a[7] - a[4] * a[6]) * d;
    m[7] = (a[1] * a[6] - a[0] * a[7]) * d;
    m[8] = (a[0] * a[4] - a[1] * a[3]) * d;
  }
};

// Output-to-source matrices as a user gives them, in float or double.
struct GivenMatrices {
  const void* numbers;
  bool in_double;
  int size;        // 6 or 9 numbers of a matrix, or none
  int64_t stride;  // numbers between the matrices of consecutive images; 0 if all share one

  // Number i of matrix n; 6 are completed to 9 by the row 0, 0, 1, and none to the identity.
  ORBBEC_HD float number(int64_t n, int i) const {
    if (i >= size) return i % 4 == 0 ? 1.0f : 0.0f;
    const int64_t at = n * stride + i;
    return in_double ? static_cast<float>(static_cast<const double*>(numbers)[at])
                     : static_cast<const float*>(numbers)[at];
  }
};

// All matrices of a call, whose types are known only at run time.
struct MatrixArguments {
  const void* matrices;
  void* prepared;
  bool in_double, out_double;
  int64_t count, input_size, size;  // numbers of a matrix before and after
  bool inverse;
};

template <class Launch>
auto dispatch_matrices(const MatrixArguments& a, const Launch& launch) {
  const auto with = [&](auto in, auto out) {
    using In = decltype(in);
    using Out = decltype(out);
    return launch(PrepareMatrix<In, Out>{static_cast<const In*>(a.matrices),
                                         static_cast<Out*>(a.prepared), a.input_size, a.size,
                                         a.inverse});
  };
  if (a.in_double) return a.out_double ? with(0.0, 0.0) : with(0.0, 0.0f);
  return a.out_double ? with(0.0f, 0.0) : with(0.0f, 0.0f);
}

}  // namespace orbbec
