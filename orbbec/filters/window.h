// The windows that the filters of this folder slide over images: sizes, borders and planes.
// Included by the headers of this folder.
#pragma once

#include "../core/border.h"
#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

// The kernel sizes of each image, or one for all.
struct KernelSizes {
  const int32_t* table;  // [N, 2]: height, width; null: `height` and `width` for all
  int height, width;

  ORBBEC_HD int of(int64_t n, int axis) const {
    return table != nullptr ? table[2 * n + axis] : axis == 0 ? height : width;
  }
};

// The window starts `before` pixels before its pixel.
struct Window {
  int height, width;

  ORBBEC_HD int above() const { return height / 2; }
  ORBBEC_HD int before() const { return width / 2; }
};

// The source index for `index`, or -1 outside a constant border, which is 0.
ORBBEC_HD int index_or_outside(int index, int size, Border border) {
  if (border == Border::kConstant && static_cast<unsigned>(index) >= static_cast<unsigned>(size)) {
    return -1;
  }
  return border_index(index, size, border);
}

// A pixel of the image or its border.
template <class T>
ORBBEC_HD Compute<T> read_or_zero(const Image<const T>& image, int y, int x, int64_t c,
                                  Border border) {
  const int row = index_or_outside(y, image.height, border);
  const int column = index_or_outside(x, image.width, border);
  return row < 0 || column < 0 ? Compute<T>(0) : load<T>(image.at(row, column, c));
}

}  // namespace orbbec
