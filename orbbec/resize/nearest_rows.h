// Rows of nearest on the CPU: pixels with interleaved channels are copied as one unit. Included by
// resize_cpu.cpp.
#pragma once

#include <cstring>

#include "strips.h"

namespace orbbec {

template <int kBytes>
void gather_pixels(const char* from, const int* columns, int count, char* to) {
  for (int x = 0; x < count; ++x)
    memcpy(to + int64_t{x} * kBytes, from + int64_t{columns[x]} * kBytes, kBytes);
}

// Copies three bytes with 4-byte loads, up to `last`, the image's last column, where a load would
// end outside.
inline void gather_triples(const char* from, const int* columns, int count, int last, char* to) {
  int x = 0;
  for (; x + 1 < count && columns[x] < last; ++x)
    memcpy(to + int64_t{x} * 3, from + int64_t{columns[x]} * 3, 4);
  gather_pixels<3>(from, columns + x, count - x, to + int64_t{x} * 3);
}

// Returns false for pixels of another length.
inline bool gather_row(int64_t bytes, const char* from, const int* columns, int count, int last,
                       char* to) {
  switch (bytes) {
    case 1:
      return gather_pixels<1>(from, columns, count, to), true;
    case 2:
      return gather_pixels<2>(from, columns, count, to), true;
    case 3:
      return gather_triples(from, columns, count, last, to), true;
    case 4:
      return gather_pixels<4>(from, columns, count, to), true;
    case 6:
      return gather_pixels<6>(from, columns, count, to), true;
    case 8:
      return gather_pixels<8>(from, columns, count, to), true;
    case 12:
      return gather_pixels<12>(from, columns, count, to), true;
    case 16:
      return gather_pixels<16>(from, columns, count, to), true;
    default:
      return false;
  }
}

// Output rows [begin, end) of image n; a row with the same source row as the previous one is
// copied.
template <class T>
void nearest_strip(const ResizeNearest<T>& op, int64_t n, int begin, int end) {
  const ResizeCoefficients& coefficients = op.coefficients;
  const Image<const T> from = op.source[n];
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const int* const columns = coefficients.first + coefficients.entry(n, 0);
  const int* const rows = coefficients.first + coefficients.entry(n, coefficients.width);
  const bool empty = coefficients.plans[coefficients.set_of(n)].form == ResizeForm::kEmpty;
  const bool packed = !empty && has_packed_rows(from, channels) && has_packed_rows(to, channels);
  const int64_t pixel_bytes = channels * static_cast<int64_t>(sizeof(T));
  for (int y = begin; y < end; ++y) {
    char* const target = reinterpret_cast<char*>(&to.at(y, 0, 0));
    if (packed && y > begin && rows[y] == rows[y - 1]) {
      memcpy(target, &to.at(y - 1, 0, 0), to.width * pixel_bytes);
      continue;
    }
    if (packed && gather_row(pixel_bytes, reinterpret_cast<const char*>(&from.at(rows[y], 0, 0)),
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
