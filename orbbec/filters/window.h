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

constexpr int64_t kMaxInterleaved = 16;  // channels: more would make margins too wide

// An image as rows of values: all channels of a pixel where they lie together, else one channel.
template <class T>
struct Plane {
  T* data;
  int height, width;
  int64_t stride_y, stride_v;  // to the next row, and to the next value of a row
  int group;                   // values per pixel

  ORBBEC_HD int64_t values() const { return int64_t{width} * group; }
  ORBBEC_HD T* at(int y, int64_t v) const { return data + y * stride_y + v * stride_v; }
};

inline bool is_interleaved(const AnyImages& images) {
  return images.stride_c == 1 && images.stride_x == images.channels &&
         images.channels <= kMaxInterleaved;
}

template <class T>
ORBBEC_HD Plane<T> plane_of(const Image<T>& image, int64_t channel, int group) {
  return {.data = image.data + channel * image.stride_c,
          .height = image.height,
          .width = image.width,
          .stride_y = image.stride_y,
          .stride_v = group > 1 ? 1 : int64_t{image.stride_x},
          .group = group};
}

}  // namespace orbbec
