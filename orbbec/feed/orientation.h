// Upright rectangles and pixels of stored images: the rules of data/decode/orientation.py. Included
// by work.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace orbbec::feed {

inline bool reverses_rows(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

inline bool reverses_columns(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

inline bool swaps_axes(int orientation) { return orientation >= 5; }

// Half-open, in pixels.
struct Box {
  int64_t left, top, right, bottom;

  int width() const { return static_cast<int>(right - left); }
  int height() const { return static_cast<int>(bottom - top); }
};

// The position of an upright box in the stored image of height x width.
inline Box stored_box(Box box, int64_t height, int64_t width, int orientation) {
  if (swaps_axes(orientation)) {
    std::swap(box.left, box.top);
    std::swap(box.right, box.bottom);
  }
  if (reverses_rows(orientation))
    box = {box.left, height - box.bottom, box.right, height - box.top};
  if (reverses_columns(orientation)) {
    box = {width - box.right, box.top, width - box.left, box.bottom};
  }
  return box;
}

// Where the stored pixels of an upright image go: the first, and the strides in bytes.
struct StoredPixels {
  uint8_t* first;
  ptrdiff_t row_stride, pixel_stride;
};

inline StoredPixels stored_pixels(uint8_t* upright, const Box& box, int channels, int orientation) {
  const int inverse = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
  StoredPixels out{upright, ptrdiff_t{channels} * box.width(), channels};
  if (reverses_rows(inverse)) {
    out.first += (box.height() - 1) * out.row_stride;
    out.row_stride = -out.row_stride;
  }
  if (reverses_columns(inverse)) {
    out.first += (box.width() - 1) * out.pixel_stride;
    out.pixel_stride = -out.pixel_stride;
  }
  if (swaps_axes(inverse)) std::swap(out.row_stride, out.pixel_stride);
  return out;
}

}  // namespace orbbec::feed
