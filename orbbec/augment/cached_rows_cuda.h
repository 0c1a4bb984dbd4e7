// The pixels of a column under transforms that scale, flip and shift but neither rotate nor shear:
// a column reads the same source columns in every row. Each source row is blended horizontally once
// and cached for the next output row, in the order of the sampler. Included by tile_cuda.h.
#pragma once

#include "../executors/cuda/tiles.h"
#include "augment.h"
#include "read_inside.h"

namespace orbbec {

// The source rows of an output row, inside the image, and how far the row is below the upper one.
struct alignas(16) SourceRows {
  int top, bottom;
  float below;
  int padding;  // written, too: rows are read as whole vectors
};

// Whether the columns of all taps depend on x alone and their rows on y alone, and are finite.
__device__ inline bool is_separable(const float* m) {
  constexpr float kMax = 0x1p64f;
  return m[1] == 0 && m[3] == 0 && PerspectiveTransform<float>::is_affine(m) &&
         fabsf(m[0]) < kMax && fabsf(m[2]) < kMax && fabsf(m[4]) < kMax && fabsf(m[5]) < kMax;
}

template <class Inside>
class CachedRows {
 public:
  using Tap = typename Inside::Tap;
  static constexpr bool kIsLinear = Inside::kIsLinear;

  // The row of a tap; outside of the image only where the border is a value.
  template <class Image>
  __device__ static SourceRows rows_of(const Tap& tap, const Image& image, Border border) {
    const auto inside = [&](int y) {
      const bool is_border = !outside_is_value(border) && image.height > 0;
      return is_border ? border_index(y, image.height, border) : y;
    };
    if constexpr (kIsLinear) {
      return {inside(tap.y), inside(wrapping_add(tap.y, 1)), tap.b, 0};
    } else {
      return {inside(tap.y), 0, 0, 0};
    }
  }

  // The column of a tap, between rows `first` and `last`. Whether all threads of the warp can read.
  template <class Reader, class View>
  __device__ bool prepare(const Reader& reader, const View& view, const Tap& tap,
                          const SourceRows& first, const SourceRows& last) {
    const auto& image = Inside::image_of(view);
    const Border border = Inside::border_of(reader);
    bool reads = image.width > 0 && image.height > 0 && Inside::Columns::can_read(view);
    int left = tap.x, right = kIsLinear ? wrapping_add(left, 1) : left;
    if (outside_is_value(border)) {
      reads = reads && contains(image, first, left, right) && contains(image, last, left, right);
    } else if (reads) {
      left = border_index(left, image.width, border);
      right = border_index(right, image.width, border);
    }
    cached_row_ = -1;
    for (float& value : below_) value = 0;
    if constexpr (kIsLinear) right_of_left_ = tap.a;
    if (!__all_sync(kAllLanes, reads)) return false;
    columns_.prepare(view, left, right);
    return true;
  }

  // The pixels of neighboring output rows, loaded together.
  template <class Reader, class View, int kRows>
  __device__ void read(const Reader& reader, const View& view, const SourceRows (&rows)[kRows],
                       float (&values)[kRows][kMaxFills]) {
    if (!Inside::are_packed(reader, view)) {
#pragma unroll
      for (int p = 0; p < kRows; ++p) read_unpacked(reader, view, rows[p], values[p]);
      return;
    }
    if constexpr (!kIsLinear) return read_packed<false, false, kRows>(rows, values);
    bool has_others = true;
    for (int p = 1; p < kRows; ++p) has_others = has_others && rows[p].top == rows[p - 1].bottom;
    if (!has_others) return read_group<false, kRows>(rows, values);
    read_group<true, kRows>(rows, values);
  }

 private:
  template <class Image>
  __device__ static bool contains(const Image& image, const SourceRows& row, int left, int right) {
    const int bottom = kIsLinear ? row.bottom : row.top;
    return image.contains(row.top, left) && image.contains(bottom, right);
  }

  template <bool kHasOthers, int kRows>
  __device__ void read_group(const SourceRows* rows, float (*values)[kMaxFills]) {
    const bool has_first = rows[0].top == cached_row_;
    cached_row_ = rows[kRows - 1].bottom;
    if (has_first) return read_packed<true, kHasOthers, kRows>(rows, values);
    read_packed<false, kHasOthers, kRows>(rows, values);
  }

  // Three channels side by side. kHasFirst, kHasOthers: whether the upper row of the first and of
  // the other output rows is the lower one of the output row before.
  template <bool kHasFirst, bool kHasOthers, int kRows>
  __device__ void read_packed(const SourceRows* rows, float (*values)[kMaxFills]) {
    const auto read_row = [&](int y, float (&blended)[3]) {
      float right[3];
      columns_.read(y, blended, right);
      for (int c = 0; c < 3; ++c)
        blended[c] = LinearSampler::mix(right_of_left_, blended[c], right[c]);
    };
#pragma unroll
    for (int p = 0; p < kRows; ++p) {
      float above[3] = {below_[0], below_[1], below_[2]};
      if constexpr (kIsLinear) {
        if (!(p == 0 ? kHasFirst : kHasOthers)) read_row(rows[p].top, above);
        read_row(rows[p].bottom, below_);
        for (int c = 0; c < 3; ++c)
          above[c] = LinearSampler::mix(rows[p].below, above[c], below_[c]);
      } else {
        columns_.read(rows[p].top, above, below_);
      }
      for (int c = 0; c < kMaxFills; ++c) values[p][c] = c < 3 ? above[c] : 0.0f;
    }
  }

  template <class Reader, class View>
  __device__ void read_unpacked(const Reader& reader, const View& view, const SourceRows& row,
                                float (&values)[kMaxFills]) const {
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c) {
      values[c] = 0;
      if (c >= Inside::channels_of(reader)) continue;
      float left[2], right[2];
      columns_.read(view, row.top, c, left[0], right[0]);
      if constexpr (kIsLinear) {
        columns_.read(view, row.bottom, c, left[1], right[1]);
        for (int r = 0; r < 2; ++r) left[r] = LinearSampler::mix(right_of_left_, left[r], right[r]);
        left[0] = LinearSampler::mix(row.below, left[0], left[1]);
      }
      values[c] = left[0];
    }
  }

  typename Inside::Columns columns_;
  float right_of_left_;
  int cached_row_;  // of the source, if its pixels are packed
  float below_[3];  // the cached row
};

}  // namespace orbbec
