// adjust_sharpness on the CPU: the interior of a row, of planes or interleaved channels, in a loop
// that the compiler vectorizes. Included by adjust_cpu.cpp.
#pragma once

#include <algorithm>

#include "adjust.h"

namespace orbbec {

// Values of a row; `step`: from a value to the same channel of the next pixel. A constant count is
// vectorized without a remainder.
template <class T>
ORBBEC_HD void sharpen_values(const T* from, int64_t stride_y, int64_t step, int64_t count,
                              typename Sharpen<T>::F rest, T* __restrict to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const auto around = [&](int dy, int dx) { return from[i + dy * stride_y + dx * step]; };
    to[i] = Sharpen<T>::sharpened(around, rest);
  }
}

// As `sharpen_values`, in blocks, of which the last one overlaps the one before it.
template <class T>
ORBBEC_HD void sharpen_blocks(const T* from, int64_t stride_y, int64_t step, int64_t count,
                              typename Sharpen<T>::F rest, T* to) {
  constexpr int kBlock = 32;
  if (count < kBlock) return sharpen_values(from, stride_y, step, count, rest, to);
  for (int64_t next = 0; next < count; next += kBlock) {
    const int64_t i = std::min(next, count - kBlock);
    sharpen_values(from + i, stride_y, step, kBlock, rest, to + i);
  }
}

template <class T>
ORBBEC_HD void sharpen_row(const Sharpen<T>& op, int64_t n, int y, int width) {
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const auto lie_together = [&](const auto& image) {
    return image.stride_c == 1 && image.stride_x == channels;
  };
  const bool together = lie_together(from) && lie_together(to);
  const bool planes = from.stride_x == 1 && to.stride_x == 1;
  const bool is_copied = y == 0 || y == from.height - 1 || width <= 2 || op.stays(n);
  if (!(together || planes)) {
    for (int x = 0; x < width; ++x) op(n, y, x);
    return;
  }
  const int64_t step = together ? channels : 1, inside = (width - 2) * step;
  for (int64_t c = 0; c < (together ? 1 : channels); ++c) {
    const T* const row = &from.at(y, 0, c);
    T* const out = &to.at(y, 0, c);
    if (is_copied) {
      std::copy_n(row, width * step, out);
      continue;
    }
    std::copy_n(row, step, out);
    sharpen_blocks(row + step, from.stride_y, step, inside, op.rest(n), out + step);
    std::copy_n(row + step + inside, step, out + step + inside);
  }
}

template <class T>
PixelRow<Sharpen<T>> row_of(const Sharpen<T>&, Simd level) {
  return compiled_to_avx512<sharpen_row<T>>(level);
}

}  // namespace orbbec
