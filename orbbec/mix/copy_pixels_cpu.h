// Copies rectangles of pixels between images of any strides. Included by gather_cpu.cpp,
// blends_cpu.cpp and erase/erase_cpu.cpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "../core/image.h"

namespace orbbec {

// Rows of a strip: so many bytes that memcpy reaches its full speed, and the strip stays in an L2
// cache.
inline int strip_rows(const AnyImages& images, int64_t value_bytes) {
  constexpr int64_t kBytes = 256 * 1024, kOfUnknownWidth = 64;
  const int64_t row_bytes = images.width * images.channels * value_bytes;
  return static_cast<int>(row_bytes > 0 ? std::max<int64_t>(kBytes / row_bytes, 1)
                                        : kOfUnknownWidth);
}

// A rectangle of an image, by its first pixel and its size.
struct Area {
  int y, x, height, width;
};

template <class T>
bool is_interleaved(const Image<T>& image, int64_t channels) {
  return image.stride_x == channels && (channels == 1 || image.stride_c == 1);
}

// Rows of `count` values, `to_step` and `from_step` values apart; contiguous rows together.
template <class T>
void copy_rows(const T* __restrict__ from, int64_t from_step, T* __restrict__ to, int64_t to_step,
               int64_t rows, int64_t count) {
  if (from_step == count && to_step == count) {
    count *= rows;
    rows = 1;
  }
  for (; rows > 0; --rows, from += from_step, to += to_step) memcpy(to, from, sizeof(T) * count);
}

// The pixels of `area` of `to`, from those that begin at row `y` and column `x` of `from`.
template <class T>
void copy_pixels(const Image<const T>& from, int y, int x, const Image<T>& to, const Area& area,
                 int64_t channels) {
  const T* const source = &from.at(y, x, 0);
  T* const target = &to.at(area.y, area.x, 0);
  const bool is_packed = is_interleaved(from, channels) && is_interleaved(to, channels);
  if (is_packed) {
    return copy_rows(source, from.stride_y, target, to.stride_y, area.height,
                     channels * area.width);
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T* row = source + c * from.stride_c;
    T* copy = target + c * to.stride_c;
    if (from.stride_x == 1 && to.stride_x == 1) {
      copy_rows(row, from.stride_y, copy, to.stride_y, area.height, area.width);
      continue;
    }
    for (int i = 0; i < area.height; ++i, row += from.stride_y, copy += to.stride_y) {
      for (int j = 0; j < area.width; ++j) copy[j * to.stride_x] = row[j * from.stride_x];
    }
  }
}

// Fills `area` with `value_of(c)`: the first row value by value, then by copies.
template <class T, class ValueOf>
void fill_pixels(const Image<T>& to, const Area& area, int64_t channels, const ValueOf& value_of) {
  const bool is_packed = is_interleaved(to, channels);
  for (int64_t c = 0; c < channels; ++c) {
    const T value = value_of(c);
    T* row = &to.at(area.y, area.x, c);
    const int rows = is_packed ? 1 : area.height;
    for (int i = 0; i < rows; ++i, row += to.stride_y) {
      if (to.stride_x == 1) {
        std::fill_n(row, area.width, value);
      } else {
        for (int j = 0; j < area.width; ++j) row[j * to.stride_x] = value;
      }
    }
  }
  if (!is_packed) return;
  const T* const first = &to.at(area.y, area.x, 0);
  for (int i = 1; i < area.height; ++i)
    memcpy(&to.at(area.y + i, area.x, 0), first, sizeof(T) * channels * area.width);
}

}  // namespace orbbec
