// Copies whole pixels of rows by a table of source columns: nearest resizes, and nearest warps by
// axis-aligned matrices, on the CPU. Included by warp_rows_cpu.h and resize/.
#pragma once

#include <cstring>

#include "executor_cpu.h"
#include "simd/gathered_bytes.h"

namespace orbbec {

// Pixels of kBytes bytes. Those of three are copied as four before column `last`, the image's last
// one; the fourth byte is overwritten by the next pixel.
template <int kBytes>
void gather_pixels(const char* from, const int* columns, int count, int last, char* to) {
  const int wide = kBytes == 3 ? count - 1 : 0;
#pragma GCC unroll 8
  for (int x = 0; x < wide; ++x) {
    const char* const pixel = from + int64_t{columns[x]} * kBytes;
    char* const copy = to + int64_t{x} * kBytes;
    columns[x] < last ? memcpy(copy, pixel, 4) : memcpy(copy, pixel, kBytes);
  }
#pragma GCC unroll 8
  for (int x = wide; x < count; ++x)
    memcpy(to + int64_t{x} * kBytes, from + int64_t{columns[x]} * kBytes, kBytes);
}

using GatherPixels = void (*)(const char* from, const int* columns, int count, int last, char* to);

// Null for pixels of another length.
inline GatherPixels gather_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return gather_pixels<1>;
    case 2:
      return gather_pixels<2>;
    case 3:
      return gather_pixels<3>;
    case 4:
      return gather_pixels<4>;
    case 6:
      return gather_pixels<6>;
    case 8:
      return gather_pixels<8>;
    case 12:
      return gather_pixels<12>;
    case 16:
      return gather_pixels<16>;
    default:
      return nullptr;
  }
}

// Rows of `count` pixels, the source columns of which are the same in every row. Pixels with
// interleaved channels are copied as one unit.
template <class T>
class GatherRows {
 public:
  GatherRows(const Image<const T>& from, const Image<T>& to, int64_t channels, const int* columns,
             int count, Simd level)
      : from_(from), to_(to), channels_(channels), columns_(columns), count_(count) {
    const bool is_packed = is_interleaved(from) && is_interleaved(to);
    if (is_packed) unit_ = channels * static_cast<int64_t>(sizeof(T));
    gather_ = is_packed ? gather_of(unit_) : nullptr;
    if (gather_ != nullptr) {
      planes_ = 1;
    } else if (from.stride_x == 1 && to.stride_x == 1) {
      unit_ = sizeof(T);
      gather_ = gather_of(unit_);
    }
    for (int x = 1; x < count; ++x) are_consecutive_ &= columns[x] == columns[x - 1] + 1;
    are_permuted_ = level == Simd::kAvx512 && unit_ == 1 && bytes_.set(columns, count);
  }

  // Row `to_row` of the output from row `from_row` of the image.
  void copy(int from_row, int to_row) {
    for (int64_t c = 0; c < planes_; ++c) {
      const T* const from = &from_.at(from_row, 0, c);
      T* const to = &to_.at(to_row, 0, c);
      if (gather_ == nullptr) {
        for (int x = 0; x < count_; ++x) to[x * to_.stride_x] = from[columns_[x] * from_.stride_x];
      } else if (from_row == from_row_) {
        memcpy(to, &to_.at(to_row_, 0, c), count_ * unit_);
      } else {
        copy_units(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to));
      }
    }
    from_row_ = from_row;
    to_row_ = to_row;
  }

 private:
  bool is_interleaved(const auto& image) const {
    return image.stride_x == channels_ && (channels_ == 1 || image.stride_c == 1);
  }

  void copy_units(const char* from, char* to) const {
    if (are_consecutive_) {
      memcpy(to, from + columns_[0] * unit_, count_ * unit_);
    } else if (are_permuted_) {
      bytes_.copy(from, from_.width, to);
    } else {
      gather_(from, columns_, count_, from_.width - 1, to);
    }
  }

  Image<const T> from_;
  Image<T> to_;
  int64_t channels_, planes_ = channels_;
  const int* columns_;
  int count_;
  int64_t unit_ = 0;               // bytes
  GatherPixels gather_ = nullptr;  // null: value by value
  bool are_consecutive_ = true, are_permuted_ = false;
  GatheredBytes bytes_;
  int from_row_ = -1, to_row_ = -1;  // of the row before
};

}  // namespace orbbec
