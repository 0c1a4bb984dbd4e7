// Rows of nearest warps by axis-aligned matrices on the CPU: each is a row of the image whose
// columns are gathered by one table. Included by warp_rows_cpu.h.
#pragma once

#include <vector>

#include "executor_cpu.h"
#include "gather_rows_cpu.h"
#include "warp_columns_cpu.h"

namespace orbbec {

template <class Op>
constexpr bool kMayBeAligned =
    Op::Sampler::kSize == 1 && requires(const Op& op) { op.transform.is_axis_aligned(0); };

// The source of each output column, and of output rows [top, bottom); -1 for those outside.
template <class Op>
ORBBEC_HD void locate_aligned(const Op& op, int64_t n, int top, int bottom, int* columns,
                              int* rows) {
  const Image<const typename Op::Value> image = op.source[n];
  const auto inside = [&](bool valid, int index, int size) {
    if (valid && !outside_is_value(op.border)) return border_index(index, size, op.border);
    return valid && index >= 0 && index < size ? index : -1;
  };
  for (int x = 0; x < op.output.width; ++x) {
    const auto tap = op.locate(image, n, 0, x);
    columns[x] = inside(tap.valid, tap.x, image.width);
  }
  for (int y = top; y < bottom; ++y) {
    const auto tap = op.locate(image, n, y, 0);
    rows[y - top] = inside(tap.valid, tap.y, image.height);
  }
}

// Rows [top, bottom) of image n. False where the matrix is of another kind.
template <class Op>
bool write_aligned_rows(const Op& op, Simd level, int64_t n, int top, int bottom) {
  using T = typename Op::Value;
  const Image<const T> image = op.source[n];
  const int width = op.output.width;
  if (!op.transform.is_axis_aligned(n) || image.height < 1 || image.width < 1) return false;
  std::vector<int> columns(width), rows(bottom - top);
  compiled_to_avx2<locate_aligned<Op>>(level)(op, n, top, bottom, columns.data(), rows.data());
  const auto is_inside = [](int column) { return column >= 0; };
  const auto first = std::find_if(columns.begin(), columns.end(), is_inside);
  const auto last = std::find_if(columns.rbegin(), columns.rend(), is_inside).base();
  if (first < last && !std::all_of(first, last, is_inside)) return false;
  const int begin = static_cast<int>(first - columns.begin());
  const int end = first < last ? static_cast<int>(last - columns.begin()) : begin;
  const Image<T> target = op.output[n];
  Image<T> inner = target;
  inner.data += begin * target.stride_x;
  GatherRows<T> gather(image, inner, op.output.channels, columns.data() + begin, end - begin,
                       level);
  for (int y = top; y < bottom; ++y) {
    const int row = rows[y - top];
    const bool reads = row >= 0 && begin < end;
    if (reads) gather.copy(row, y);
    fill_outside(op, target, y, {0, reads ? begin : width});
    if (reads) fill_outside(op, target, y, {end, width});
  }
  return true;
}

}  // namespace orbbec
