// Rows of nearest on the CPU. Included by resize_cpu.cpp.
#pragma once

#include "../executors/gather_rows_cpu.h"
#include "strips.h"

namespace orbbec {

// Output rows [begin, end) of image n.
template <class T>
void nearest_strip(const ResizeNearest<T>& op, int64_t n, int begin, int end, Simd level) {
  const ResizeCoefficients& coefficients = op.coefficients;
  const Image<T> to = op.output[n];
  const int* const columns = coefficients.first + coefficients.entry(n, 0);
  const int* const rows = coefficients.first + coefficients.entry(n, coefficients.width);
  if (coefficients.plans[coefficients.set_of(n)].form == ResizeForm::kEmpty) {
    for (int y = begin; y < end; ++y) {
      for (int x = 0; x < to.width; ++x) op(n, y, x);
    }
    return;
  }
  GatherRows<T> gather(op.source[n], to, op.output.channels, columns, to.width, level);
  for (int y = begin; y < end; ++y) gather.copy(rows[y], y);
}

}  // namespace orbbec
