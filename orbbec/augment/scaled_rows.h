// Rows of images whose map scales, turns over and shifts, but neither turns nor shears: a column
// reads the same two source columns in every row. So each source row is blended along x once and
// kept, and a row of the output is the blend of two of them: the bits of the sampler, which blends
// in this order. Included by augment_avx2.cpp and augment_avx512.cpp, under their targets.
#pragma once

#include <algorithm>
#include <vector>

#include "augment.h"

namespace orbbec {

// Of linear readers of bytes and of floats; kept by a thread from row to row.
template <class Simd, class Reader>
class ScaledRows {
 public:
  explicit ScaledRows(const Reader& reader)
      : reader_(reader),
        width_(reader.map.width),
        channels_(static_cast<int>(reader.output.channels)) {}

  struct Span {
    int begin, end;
  };

  // Those of `count` columns from `begin` on that this class has read, into planes from 0 on; the
  // others read beyond the image.
  template <int kBlock>
  Span read(int64_t n, int y, int begin, int count, float (*planes)[kBlock]) {
    if (n != n_) set_image(n);
    const int first = std::clamp(first_ - begin, 0, count);
    const int last = std::clamp(last_ - begin, first, count);
    if (first == last) return {0, 0};
    const float at = reader_.map.fused(n, y, 0).y;
    const int top = floor_to_int(at);
    if (top < 0 || top >= image_.height - 1) return {0, 0};
    const float share = at - static_cast<float>(top);
    const float* const above = blended(top) + begin;
    const float* const below = blended(top + 1) + begin;
    for (int c = 0; c < channels_; ++c) {
      blend_rows(above + c * stride(), below + c * stride(), share, first, last, planes[c]);
    }
    return {first, last};
  }

 private:
  using T = typename Reader::Value;
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  typedef unsigned Unsigned __attribute__((vector_size(4 * Simd::kLanes)));
  static constexpr bool kIsByte = sizeof(T) == 1;
  static constexpr int kPairBytes = 8;  // of one load that holds a pixel and its right neighbour
  static constexpr float kMostRows = 1.25f;  // from row to row: beyond, too few are read again

  int64_t stride() const { return width_ + Simd::kLanes; }

  void set_image(int64_t n) {
    n_ = n;
    image_ = reader_.source[n];
    held_[0] = held_[1] = -1;
    first_ = last_ = 0;
    const float* const m = reader_.map.matrices + n * reader_.map.stride;
    const int64_t pixel = image_.stride_x * static_cast<int64_t>(sizeof(T));
    const bool scales = reader_.map.is_affine(m) && m[1] == 0 && m[3] == 0;
    if (!scales || !(fabsf(m[4]) < kMostRows) || pixel < 1 || pixel > 4 || channels_ > kMaxFills ||
        image_.height < 2)
      return;
    const int64_t row = (image_.width - 1) * pixel + static_cast<int64_t>(sizeof(T));
    if (row < kPairBytes) return;
    set_columns(static_cast<int>((row - kPairBytes) / pixel), static_cast<int>(pixel));
  }

  // Positions go up or down all along a row, so that the columns inside lie together.
  void set_columns(int last_left, int pixel) {
    offsets_.assign(stride(), 0);
    shares_.assign(stride(), 0.0f);
    rows_.resize(2 * channels_ * stride());
    pair_shift_ = 8 * pixel;
    rgb_ = kIsByte && channels_ == 3 && pixel == 3 && image_.stride_c == 1;
    bool found = false;
    for (int x = 0; x < width_; ++x) {
      const float at = reader_.map.fused(n_, 0, x).x;
      const int left = floor_to_int(at);
      if (left < 0 || left > last_left) continue;
      if (!found) first_ = x;
      found = true;
      last_ = x + 1;
      offsets_[x] = left * pixel;
      shares_[x] = at - static_cast<float>(left);
    }
  }

  // The channels of source row `row`, each `stride()` behind the other.
  const float* blended(int row) {
    const int slot = row & 1;
    float* const sums = rows_.data() + slot * channels_ * stride();
    if (held_[slot] != row) {
      for (int x = first_; x < last_; x += Simd::kLanes) blend_columns(row, x, sums + x);
      held_[slot] = row;
    }
    return sums;
  }

  void blend_columns(int row, int x, float* to) const {
    const T* const pixels = image_.data + row * image_.stride_y;
    Int offsets;
    memcpy(&offsets, offsets_.data() + x, sizeof(offsets));
    const Float share = Simd::load(shares_.data() + x);
    Int low, high;
    for (int c = 0; c < channels_; ++c) {
      if (c == 0 || !rgb_) {
        Simd::load_8_bytes(reinterpret_cast<const char*>(pixels + c * image_.stride_c), offsets,
                           low, high);
      }
      const Float left = rgb_ ? byte_of(low, c) : value_of(low);
      const Float right =
          rgb_ ? byte_of(c == 0 ? low : high, (c + 3) % 4) : value_of(right_of(low, high));
      Simd::store(to + c * stride(), Simd::fused_multiply_add(share, right - left, left));
    }
  }

  static Float byte_of(Int v, int place) {
    return Simd::to_float((Int)((Unsigned)v >> (8 * place)) & 255);
  }
  static Float value_of(Int v) {
    if constexpr (kIsByte) return byte_of(v, 0);
    if constexpr (!kIsByte) return (Float)v;
  }
  Int right_of(Int low, Int high) const {
    if (pair_shift_ == 32) return high;
    return (Int)((Unsigned)low >> pair_shift_) | high << (32 - pair_shift_);
  }

  static void blend_rows(const float* __restrict above, const float* __restrict below, float share,
                         int begin, int end, float* __restrict to) {
    for (int i = begin; i < end; ++i) {
      to[i] = fused_multiply_add(share, below[i] - above[i], above[i]);
    }
  }

  const Reader& reader_;
  int width_, channels_;
  int64_t n_ = -1;
  Image<const T> image_{};
  int first_ = 0, last_ = 0;  // columns that read inside the image
  int pair_shift_ = 0;        // bits from a pixel to its right neighbour
  bool rgb_ = false;          // whether a load holds all channels of two pixels
  std::vector<int> offsets_;  // bytes from a row's beginning to a column's left pixel
  std::vector<float> shares_;
  std::vector<float> rows_;  // two source rows
  int held_[2] = {-1, -1};   // their numbers
};

}  // namespace orbbec
