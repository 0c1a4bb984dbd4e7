// The connected regions of one value in a mask, and what is covered of masks; included by
// binding_objects.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "../../executors/executor_cpu.h"
#include "boxes.h"

namespace orbbec {

// Trees of labels; a label is the index of a pixel, and a root is the first pixel of its region.
struct Forest {
  int32_t* parents;

  int32_t root(int32_t at) const {
    while (parents[at] != at) at = parents[at] = parents[parents[at]];
    return at;
  }

  void join(int32_t one, int32_t other) const {
    one = root(one), other = root(other);
    if (one < other) {
      parents[other] = one;
    } else {
      parents[one] = other;
    }
  }
};

inline void join_neighbors(const int32_t* mask, int64_t height, int64_t width,
                           const Forest& forest) {
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const int64_t at = y * width + x;
      const auto join_if_equal = [&](int64_t other) {
        if (mask[other] == mask[at])
          forest.join(static_cast<int32_t>(other), static_cast<int32_t>(at));
      };
      forest.parents[at] = static_cast<int32_t>(at);
      if (mask[at] == 0) continue;
      if (x > 0) join_if_equal(at - 1);
      if (y == 0) continue;
      join_if_equal(at - width);
      if (x > 0) join_if_equal(at - width - 1);
      if (x + 1 < width) join_if_equal(at - width + 1);
    }
  }
}

// Number the regions from 1 in the order of their first pixels, in place of the trees.
inline void number_regions(const int32_t* mask, int64_t pixels, const Forest& forest) {
  int32_t count = 0;
  for (int64_t at = 0; at < pixels; ++at) {
    int32_t& label = forest.parents[at];
    // A parent precedes its pixel and has its number already, as a negative one.
    if (mask[at] == 0) {
      label = 0;
    } else {
      label = label == at ? -++count : forest.parents[label];
    }
  }
  for (int64_t at = 0; at < pixels; ++at) forest.parents[at] = -forest.parents[at];
}

// A row of a mask, 0 where it is covered. Returns how many pixels it had and has.
struct RowCounts {
  int before, after;
};

ORBBEC_HD RowCounts cover_row(const uint8_t* mask, const uint8_t* cover, int64_t width,
                              uint8_t* left, uint8_t* columns) {
  RowCounts counts{};
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t value = cover[x] != 0 ? uint8_t{0} : mask[x];
    left[x] = value;
    columns[x] |= value;
    counts.before += mask[x] != 0;
    counts.after += value != 0;
  }
  return counts;
}

// The pixels of a mask before and after it was covered, and the bounds of the latter, zeros if
// there are none.
struct CoveredMask {
  double before, after, left, top, right, bottom;  // right and bottom are exclusive
};

inline CoveredMask cover_mask(const uint8_t* mask, const uint8_t* cover, int64_t height,
                              int64_t width, uint8_t* left) {
  const auto row = compiled_to_avx512<cover_row>(simd_level());
  std::vector<uint8_t> columns(width);
  CoveredMask result{};
  for (int64_t y = 0; y < height; ++y) {
    const int64_t at = y * width;
    const RowCounts counts = row(mask + at, cover + at, width, left + at, columns.data());
    if (counts.after > 0) {
      if (result.after == 0) result.top = static_cast<double>(y);
      result.bottom = static_cast<double>(y + 1);
    }
    result.before += counts.before;
    result.after += counts.after;
  }
  for (int64_t x = 0; x < width; ++x) {
    if (columns[x] == 0) continue;
    if (result.right == 0) result.left = static_cast<double>(x);
    result.right = static_cast<double>(x + 1);
  }
  return result;
}

// The box of a mask that lost pixels bounds the rest. With limits, drops it if too little is left.
inline void fit_box(TargetBox& box, const CoveredMask& mask, const BoxLimits* limits) {
  const bool has_lost = mask.after < mask.before;
  if (has_lost) {
    box.visible *= mask.after / mask.before;
    box.left = mask.left, box.top = mask.top, box.right = mask.right, box.bottom = mask.bottom;
  }
  if (limits == nullptr) return;
  if (box.visible < limits->visibility - 1e-9) box.keep = 0;
  if (!has_lost) return;
  const double side = std::min(box.right - box.left, box.bottom - box.top);
  if (mask.after == 0 || side < limits->side || mask.after < limits->area * (1 - 1e-9))
    box.keep = 0;
}

ORBBEC_HD void join_row(const uint8_t* mask, int64_t count, uint8_t* joined) {
  for (int64_t i = 0; i < count; ++i) joined[i] |= mask[i] != 0;
}

}  // namespace orbbec
