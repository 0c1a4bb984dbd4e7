// How gaussian_blur and box_blur cut images into tiles on a CUDA device: what fits shared memory.
// Included by bytes_cuda.h, separable_cuda.cu and binding.cpp.
#pragma once

#include "../tiling.h"
#include "separable.h"

namespace orbbec {

// The general tile: values of `Row` with margins, then the row sums, then offsets and taps.
template <class Rule>
struct RowTileShape {
  using Row = typename Rule::Row;
  static constexpr int kWidth = 64, kHeights[2] = {32, 16};

  int rows, columns, taps;
  int pitch;  // of a row: two rows of 16 columns lie in different banks

  ORBBEC_HD RowTileShape(const Window& window, int group, int height) {
    rows = height + window.height - 1;
    columns = kWidth + (window.width - 1) * group;
    pitch = rounded_up(columns - 16, 32) + 16;
    taps = window.height + window.width;
  }
  ORBBEC_HD int64_t bytes() const {
    const int64_t sums = int64_t{rows} * kWidth, values = int64_t{rows} * pitch;
    return (sums + values) * static_cast<int64_t>(sizeof(Row)) + 8 * (int64_t{rows} + columns) +
           8 * int64_t{taps} + 16;
  }
};

// A tile of bytes: taps by row, pixels and margins, the sums of row pairs, offsets, other taps.
template <class Rule>
struct ByteTileShape {
  static constexpr int kWidth = 128,
                       kHeights[3] = {64, 32, 16};  // a warp stores 4 sectors of a row
  static constexpr int kMaxWidth = 257;             // the most bytes whose sum fits 16 bits

  // A row begins up to 15 bytes before its first pixel, as that lies in 16 aligned bytes.
  static constexpr int kMaxShift = 15;  // as of ByteRows

  int rows, words;            // words of 4 bytes per row
  int row_taps, column_taps;  // words of taps, at most

  // Rows are summed by four, and in pairs; outputs are made by eight.
  ORBBEC_HD ByteTileShape(const Window& window, int group, int height) {
    rows = rounded_up(rounded_up(height, 8) + window.height / 2 * 2, 4);
    row_taps = words_of(window, group, 3);
    column_taps = window.height / 2 + 1;
    words = rounded_up(kMaxShift / 4 + kWidth / 4 + row_taps, 4);
  }
  // Words around 4 outputs whose window begins at byte `shift` of the first.
  ORBBEC_HD static int words_of(const Window& window, int group, int shift) {
    return ((window.width - 1) * group + shift + 7) / 4;
  }
  ORBBEC_HD int64_t bytes() const {
    const int64_t pixels = int64_t{rows} * words, sums = int64_t{rows} / 2 * kWidth;
    return 16 * int64_t{row_taps} + 4 * (pixels + sums) + 8 * int64_t{rows} + 16 * int64_t{words} +
           4 * int64_t{column_taps};
  }
};

// The tallest tile that fits; of height 0 if none does.
template <class Shape>
Tiling tallest_tile(const SeparableArguments& a, int group) {
  // Larger windows fit no tile, and their sizes no int.
  const Window longest{at_most(a.longest, 4096), at_most(a.longest, 4096)};
  for (const int height : Shape::kHeights) {
    if (Shape(longest, group, height).bytes() <= kMaxTileBytes) {
      return {.group = group, .width = Shape::kWidth, .height = height};
    }
  }
  return {.group = group, .width = Shape::kWidth, .height = 0};
}

template <class Rule>
Tiling byte_tiling(const SeparableArguments& a) {
  Tiling tiling{.group = 1, .width = 0, .height = 0};
  if constexpr (std::is_same_v<typename Rule::Value, uint8_t>) {
    const int group = group_of(a.source, a.output);
    const bool are_rows = group > 1 || (a.source.stride_x == 1 && a.output.stride_x == 1);
    if (are_rows && a.longest <= ByteTileShape<Rule>::kMaxWidth) {
      tiling = tallest_tile<ByteTileShape<Rule>>(a, group);
    }
  }
  return tiling;
}

template <class Rule>
Tiling row_tiling(const SeparableArguments& a) {
  const Tiling together = tallest_tile<RowTileShape<Rule>>(a, group_of(a.source, a.output));
  return together.height > 0 ? together : tallest_tile<RowTileShape<Rule>>(a, 1);
}

// Bytes per value of the row sums that a window too large for a tile needs in global memory.
template <template <class> class Rule>
int64_t row_sum_bytes(const SeparableArguments& a) {
  return dispatch_separable<Rule>(a, [&](const auto& op) {
    using OpRule = typename std::decay_t<decltype(op)>::Rule;
    const bool fits = byte_tiling<OpRule>(a).height > 0 || row_tiling<OpRule>(a).height > 0;
    return fits ? 0 : static_cast<int>(sizeof(typename OpRule::Row));
  });
}

}  // namespace orbbec
