// Runs a warp over the rows of its output on the CPU. Included by *_cpu.cpp.
#pragma once

#include "aligned_rows_cpu.h"
#include "float_dispatch_cpu.h"
#include "simd/vector_rows.h"
#include "tap_rows_cpu.h"

namespace orbbec {

template <class Level, class Op>
ORBBEC_HD void tap_row(const Op& op, int64_t n, int y, int begin, int end) {
  Image<typename Op::Value> target = op.output[n];
  target.data += begin * target.stride_x;
  write_taps<Level>(op, target, n, y, begin, end);
}

template <class Op>
ORBBEC_HD void sampler_row(const Op& op, int64_t n, int y, int begin, int end) {
  for (int x = begin; x < end; ++x) op(n, y, x);
}

// The fastest row of this CPU.
template <class Op>
WarpRow<Op> warp_row(Simd level) {
#if defined(__x86_64__)
  if constexpr (kHasVectorRow<Op>) {
    if (level == Simd::kAvx512) return vector_row<Avx512, Op>;
    if (level == Simd::kAvx2) return vector_row<Avx2, Op>;
  }
#endif
  if constexpr (Op::Sampler::kSize > 2) {
    return compiled_to_avx2<tap_row<ScalarTaps, Op>, tap_row<Avx2Taps, Op>>(level);
  }
  return compiled_to_avx2<sampler_row<Op>>(level);
}

template <class Op>
void write_warp_rows(const Op& op, Simd level, int64_t n, int top, int bottom) {
  if constexpr (kMayBeAligned<Op>) {
    if (level != Simd::kScalar && write_aligned_rows(op, level, n, top, bottom)) return;
  }
  const WarpRow<Op> row = warp_row<Op>(level);
  const Image<typename Op::Value> target = op.output[n];
  for (int y = top; y < bottom; ++y) {
    const Columns columns = columns_to_read(op, n, y);
    fill_outside(op, target, y, {0, columns.begin});
    row(op, n, y, columns.begin, columns.end);
    fill_outside(op, target, y, {std::max(columns.begin, columns.end), op.output.width});
  }
}

// Output pixels that take about 0.1 ms: vectors take 1.4 ns for one in each plane that they read,
// copies by a table of columns 0.1 to 0.6 ns.
template <class Op>
int64_t pixels_per_task(const Op& op, Simd level) {
  const int64_t channels = std::max<int64_t>(op.output.channels, 1);
  const int64_t planes = op.source.stride_c == 1 ? 1 : channels;
  if constexpr (kMayBeAligned<Op>) {
    const bool is_aligned = op.output.count > 0 && op.transform.is_axis_aligned(0);
    if (is_aligned && level != Simd::kScalar) return 32 * kPixelsPerTask / planes;
  }
  const bool is_fast = kHasVectorRow<Op> && Op::kIsLight && level != Simd::kScalar;
  return is_fast ? 4 * kPixelsPerTask / planes : kPixelsPerTask;
}

template <class Op>
void run_warp_cpu(const Op& op, const ParallelFor& parallel) {
  const Simd level = simd_level();
  const int64_t height = op.output.height;
  const int64_t grain = pixels_per_task(op, level) / std::max(op.output.width, 1) + 1;
  parallel(op.output.count * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t n = i / height, first = n * height, last = std::min(end - first, height);
      write_warp_rows(op, level, n, static_cast<int>(i - first), static_cast<int>(last));
      i = first + last;
    }
  });
}

}  // namespace orbbec
