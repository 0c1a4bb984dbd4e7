// Runs a warp over the rows of its output on the CPU. Included by *_cpu.cpp.
#pragma once

#include <algorithm>

#include "simd/vector_rows.h"
#include "tap_rows_cpu.h"

namespace orbbec {

struct Columns {
  int begin, end;
};

// Whether pixels far outside the image get the border value itself, or stay what they are.
template <class Op>
bool skips_outside(const Op& op) {
  constexpr bool kIsExact =
      std::is_integral_v<typename Op::Value> || !std::is_same_v<typename Op::Sampler, CubicSampler>;
  return kIsExact && outside_is_value(op.border);
}

// The columns of a row outside of which no tap is inside the image. The first is a multiple of
// kRowBlock.
template <class Op>
Columns columns_to_read(const Op& op, int64_t n, int y) {
  const Columns all{0, op.output.width};
  if constexpr (requires { op.transform.columns_near(n, y, 1, 1, 1); }) {
    if (!skips_outside(op)) return all;
    const auto image = op.source[n];
    const auto [begin, end] =
        op.transform.columns_near(n, y, Op::Sampler::kSize, image.height, image.width);
    return {begin / kRowBlock * kRowBlock, std::min(end, all.end)};
  }
  return all;
}

// Columns without taps inside the image.
template <class Op>
void fill_outside(const Op& op, const Image<typename Op::Value>& target, int y, Columns columns) {
  using T = typename Op::Value;
  if (op.border == Border::kTransparent || columns.begin >= columns.end) return;
  const int64_t channels = op.output.channels, count = columns.end - columns.begin;
  T* const first = &target.at(y, columns.begin, 0);
  if (target.stride_c == 1 && target.stride_x == channels && channels <= kMaxFills) {
    for (int64_t c = 0; c < channels; ++c) first[c] = op.fill_of(c);
    int64_t filled = channels;
    for (; filled < count * channels; filled *= 2)  // by copies of what is filled
      std::copy_n(first, std::min(filled, count * channels - filled), first + filled);
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    T* const plane = first + c * target.stride_c;
    const T fill = op.fill_of(c);
    for (int64_t x = 0; x < count; ++x) plane[x * target.stride_x] = fill;
  }
}

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
  if constexpr (Op::Sampler::kSize > 2) {
    return compiled_to_avx2<tap_row<ScalarTaps, Op>, tap_row<Avx2Taps, Op>>(level);
  }
#if defined(__x86_64__)
  if constexpr (kHasVectorRow<Op>) {
    if (level == Simd::kAvx512) return vector_row<Avx512, Op>;
    if (level == Simd::kAvx2) return vector_row<Avx2, Op>;
  }
#endif
  return compiled_to_avx2<sampler_row<Op>>(level);
}

template <class Op>
void run_warp_cpu(const Op& op, const ParallelFor& parallel) {
  const WarpRow<Op> row = warp_row<Op>(simd_level());
  const AnyImages& output = op.output;
  for_each_row_cpu(output.count, output.height, output.width, parallel, [&](int64_t n, int y) {
    const Image<typename Op::Value> target = op.output[n];
    const Columns columns = columns_to_read(op, n, y);
    fill_outside(op, target, y, {0, columns.begin});
    row(op, n, y, columns.begin, columns.end);
    fill_outside(op, target, y, {std::max(columns.begin, columns.end), output.width});
  });
}

}  // namespace orbbec
