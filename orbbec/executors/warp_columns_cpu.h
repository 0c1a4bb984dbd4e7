// The columns that a row of a warp reads, and the values of the others. Included by
// aligned_rows_cpu.h and warp_rows_cpu.h.
#pragma once

#include <algorithm>

#include "../core/warp.h"

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

}  // namespace orbbec
