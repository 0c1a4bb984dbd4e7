// Rows of nearest on the CPU: pixels whose channels lie together are moved as one. Included by
// resize_cpu.cpp.
#pragma once

#include <cstring>

#include "strips.h"

namespace orbbec {

template <int kBytes>
void move_pixels(const char* from, const int* columns, int count, char* to) {
  for (int x = 0; x < count; ++x)
    memcpy(to + int64_t{x} * kBytes, from + int64_t{columns[x]} * kBytes, kBytes);
}

// Three bytes with the one behind them, where `last`, the image's last column, is not read yet.
inline void move_triples(const char* from, const int* columns, int count, int last, char* to) {
  int x = 0;
  for (; x + 1 < count && columns[x] < last; ++x)
    memcpy(to + int64_t{x} * 3, from + int64_t{columns[x]} * 3, 4);
  move_pixels<3>(from, columns + x, count - x, to + int64_t{x} * 3);
}

// Returns false for pixels of another length.
inline bool move_row(int64_t bytes, const char* from, const int* columns, int count, int last,
                     char* to) {
  switch (bytes) {
    case 1:
      return move_pixels<1>(from, columns, count, to), true;
    case 2:
      return move_pixels<2>(from, columns, count, to), true;
    case 3:
      return move_triples(from, columns, count, last, to), true;
    case 4:
      return move_pixels<4>(from, columns, count, to), true;
    case 6:
      return move_pixels<6>(from, columns, count, to), true;
    case 8:
      return move_pixels<8>(from, columns, count, to), true;
    case 12:
      return move_pixels<12>(from, columns, count, to), true;
    case 16:
      return move_pixels<16>(from, columns, count, to), true;
    default:
      return false;
  }
}

// Output rows [begin, end) of image n; a row that looks where the one before it does is a copy.
template <class T>
void nearest_strip(const ResizeNearest<T>& op, int64_t n, int begin, int end) {
  const ResizeTables& tables = op.tables;
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const int* const columns = tables.first + tables.entry(n, 0);
  const int* const rows = tables.first + tables.entry(n, tables.width);
  const bool empty = tables.plans[tables.table(n)].form == ResizeForm::kEmpty;
  const bool packed = !empty && has_packed_rows(from, channels) && has_packed_rows(to, channels);
  const int64_t pixel_bytes = channels * static_cast<int64_t>(sizeof(T));
  for (int y = begin; y < end; ++y) {
    char* const target = reinterpret_cast<char*>(&to.at(y, 0, 0));
    if (packed && y > begin && rows[y] == rows[y - 1]) {
      memcpy(target, &to.at(y - 1, 0, 0), to.width * pixel_bytes);
      continue;
    }
    if (packed && move_row(pixel_bytes, reinterpret_cast<const char*>(&from.at(rows[y], 0, 0)),
                           columns, to.width, from.width - 1, target))
      continue;
    for (int64_t c = 0; c < channels; ++c) {
      T* const values = &to.at(y, 0, c);
      if (empty) {
        for (int x = 0; x < to.width; ++x) values[x * to.stride_x] = T(0);
        continue;
      }
      const T* const pixels = &from.at(rows[y], 0, c);
      for (int x = 0; x < to.width; ++x)
        values[x * to.stride_x] = pixels[columns[x] * from.stride_x];
    }
  }
}

}  // namespace orbbec
