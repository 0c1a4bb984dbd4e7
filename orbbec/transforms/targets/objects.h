// The connected regions of one value in a mask; included by binding_objects.cpp.
#pragma once

#include <cstdint>

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

}  // namespace orbbec
