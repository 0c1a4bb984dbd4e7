// Views of images in memory. A batch is dense (one size, any strides) or ragged (a table of offsets
// and sizes).
#pragma once

#include "common.h"

namespace orbbec {

// A distance in elements between neighboring rows or columns. 32 bits, so that a GPU multiplies it
// with an index in one instruction; the product has 64 bits.
struct Stride {
  static constexpr int64_t kMax = 2147483647;

  int32_t elements;

  ORBBEC_HD Stride(int64_t elements = 0) : elements(static_cast<int32_t>(elements)) {}
  ORBBEC_HD operator int64_t() const { return elements; }
};

// Any layout: only `at` computes the address of a pixel. Strides are in elements.
template <class T>
struct Image {
  T* data;
  int height, width;
  Stride stride_y, stride_x;
  int64_t stride_c;

  ORBBEC_HD T& at(int y, int x, int64_t c) const {
    return data[y * stride_y + x * stride_x + c * stride_c];
  }
  ORBBEC_HD bool contains(int y, int x) const {
    return static_cast<unsigned>(x) < static_cast<unsigned>(width) &&
           static_cast<unsigned>(y) < static_cast<unsigned>(height);
  }
};

// A batch whose dtype is known only at run time; bindings pass it to kernels.
struct AnyImages {
  void* data;
  int64_t count, channels;
  int height, width;  // of a dense batch
  int64_t stride_n, stride_y, stride_x, stride_c;
  const int64_t* layout;  // [count, 3] of a ragged batch, HWC: offset, height, width; null if dense
  int64_t numel;          // elements behind `data` in a ragged batch
  // [count, 4]: left, top, right, bottom of the visible region of each image; null for whole
  // images.
  const int64_t* regions;
};

template <class T>
struct Images : AnyImages {
  explicit Images(const AnyImages& any) : AnyImages(any) {}

  ORBBEC_HD Image<T> operator[](int64_t n) const {
    return regions == nullptr ? whole(n) : cropped(whole(n), regions + 4 * n);
  }

 private:
  ORBBEC_HD static int64_t within(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
  }

  ORBBEC_HD static Image<T> cropped(const Image<T>& image, const int64_t* region) {
    const int64_t left = within(region[0], 0, image.width),
                  top = within(region[1], 0, image.height);
    const int64_t right = within(region[2], left, image.width),
                  bottom = within(region[3], top, image.height);
    return {.data = &image.at(static_cast<int>(top), static_cast<int>(left), 0),
            .height = static_cast<int>(bottom - top),
            .width = static_cast<int>(right - left),
            .stride_y = image.stride_y,
            .stride_x = image.stride_x,
            .stride_c = image.stride_c};
  }

  ORBBEC_HD Image<T> whole(int64_t n) const {
    T* const first = static_cast<T*>(data);
    if (layout == nullptr)
      return {.data = first + n * stride_n,
              .height = height,
              .width = width,
              .stride_y = stride_y,
              .stride_x = stride_x,
              .stride_c = stride_c};
    const int64_t offset = layout[3 * n], h = layout[3 * n + 1], w = layout[3 * n + 2];
    if (!fits(offset, h, w))
      return {.data = first, .height = 0, .width = 0, .stride_y = 0, .stride_x = 0, .stride_c = 0};
    return {.data = first + offset,
            .height = static_cast<int>(h),
            .width = static_cast<int>(w),
            .stride_y = w * stride_x,
            .stride_x = stride_x,
            .stride_c = stride_c};
  }

  // The table is in device memory, where the host cannot check it.
  ORBBEC_HD bool fits(int64_t offset, int64_t h, int64_t w) const {
    if (offset < 0 || offset > numel || h < 1 || w < 1) return false;
    if (h > Stride::kMax || w > Stride::kMax) return false;
    const int64_t row = w * stride_x;  // both have 31 bits
    return row <= Stride::kMax && h * row <= numel - offset;
  }
};

}  // namespace orbbec
