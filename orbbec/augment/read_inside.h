// Reads pixels whose taps lie inside the image, on CUDA, where border tests and addresses cost more
// than the arithmetic. Included by cached_rows_cuda.h, tile_cuda.h and planes_inside.h.
#pragma once

#include "../core/opaque.h"
#include "augment.h"

namespace orbbec {

template <class T, class Transform, class Sampler>
ORBBEC_HD const Transform& transform_of(const Warp<T, Transform, Sampler>& reader) {
  return reader.transform;
}

// The reader with one matrix for all images, whose outputs have this width.
template <class T, class Transform, class Sampler>
ORBBEC_HD Warp<T, Transform, Sampler> with_matrix(Warp<T, Transform, Sampler> reader,
                                                  const float* matrix, int width) {
  reader.transform.width = width;
  reader.transform.matrices = matrix;
  reader.transform.stride = 0;
  return reader;
}

// The upper left taps whose pixels are all in an image.
template <int kSide>
struct TapsInside {
  unsigned columns, rows;

  template <class T>
  ORBBEC_HD void of(const Image<const T>& image) {
    columns = static_cast<unsigned>(larger(image.width - kSide + 1, 0));
    rows = static_cast<unsigned>(larger(image.height - kSide + 1, 0));
  }
  // A tap that is not finite lies outside, too.
  template <class Tap>
  ORBBEC_HD bool contain(const Tap& tap) const {
    return static_cast<unsigned>(tap.x) < columns && static_cast<unsigned>(tap.y) < rows;
  }
};

template <class Reader>
struct ReadInside;

template <class T, class Transform, class Sampler>
struct ReadInside<Warp<T, Transform, Sampler>> {
  using Reader = Warp<T, Transform, Sampler>;
  using Tap = typename Reader::Tap;
  static constexpr int kSide = kTapsOf<Sampler>;
  static constexpr bool kIsLight = Reader::kIsLight, kIsLinear = Reader::kIsLinear;
  // Of a thread, and with color steps.
  static constexpr int kRegisters = 64, kColorRegisters = 80;
  static constexpr int kPixels = kIsLight && sizeof(T) == 1 ? 4 : 1;
  static constexpr int kNormalizedPixels = kIsLight && sizeof(T) == 1 ? 2 : 0;  // others spill

  ORBBEC_HD static const Image<const T>& image_of(const Image<const T>& image) { return image; }
  ORBBEC_HD static Border border_of(const Reader& reader) { return reader.border; }

  ORBBEC_HD static int channels_of(const Reader& reader) {
    return static_cast<int>(reader.output.channels);
  }
  // Whether there are three channels side by side.
  ORBBEC_HD static bool are_packed(const Reader& reader, const Image<const T>& image) {
    return reader.output.channels == 3 && image.stride_c == 1;
  }

  // Two columns of an image.
  class Columns {
   public:
    ORBBEC_HD static bool can_read(const Image<const T>& image) {
      return int64_t{image.width} * image.stride_x <= Stride::kMax;
    }
    ORBBEC_HD void prepare(const Image<const T>& image, int left, int right) {
      left_ = &image.at(0, left, 0);
      to_right_ = (right - left) * image.stride_x.elements;
      stride_y_ = image.stride_y;
    }
    // Of three channels side by side.
    ORBBEC_HD void read(int y, float (&left)[3], float (&right)[3]) const {
      const T *const from_left = left_ + row(y), *const from_right = from_left + to_right_;
#pragma unroll
      for (int c = 0; c < 3; ++c) left[c] = load(from_left[c]), right[c] = load(from_right[c]);
    }
    ORBBEC_HD void read(const Image<const T>& image, int y, int c, float& left,
                        float& right) const {
      const T* const from = left_ + row(y) + c * image.stride_c;
      left = load(from[0]);
      right = load(from[to_right_]);
    }

   private:
    // In one instruction, for which both have 32 bits.
    ORBBEC_HD int64_t row(int y) const { return int64_t{y} * opaque(stride_y_.elements); }

    const T* left_;
    int to_right_;
    Stride stride_y_;
  };

  const T* data;
  Stride stride_y;
  int64_t stride_c;
  TapsInside<kSide> inside;
  bool in_pixels;  // three channels of a pixel side by side; otherwise the columns are

  ORBBEC_HD void prepare(const Reader& reader, const Image<const T>& image) {
    data = image.data;
    stride_y = image.stride_y;
    stride_c = image.stride_c;
    in_pixels = reader.output.channels == 3 && image.stride_x == 3 && image.stride_c == 1;
    inside.of(image);
    if (!in_pixels && image.stride_x != 1) inside.rows = 0;  // no fast path
  }

  // The values at a tap.
  ORBBEC_HD void read(const Reader& reader, const Tap& tap, float (&values)[kMaxFills]) const {
    if (in_pixels) {
      read_patch<3>(reader, tap, 1, 3, values);
    } else {
      read_patch<1>(reader, tap, stride_c, reader.output.channels, values);
    }
  }

  // Whether read_border finds what lies outside.
  ORBBEC_HD static bool has_border_pixels(const Reader& reader, const Image<const T>& image) {
    const int64_t reach =
        image.height * int64_t{image.stride_y} + image.width * int64_t{image.stride_x};
    return kSide <= 2 && !outside_is_value(reader.border) && reach < Stride::kMax;
  }

  // The values at a finite tap that may lie outside. The border may map the taps anywhere. View
  // these at most 2x2 pixels as an image, so that the sampler needs no border test.
  ORBBEC_HD static void read_border(const Reader& reader, const Image<const T>& image, Tap tap,
                                    float (&values)[kMaxFills]) {
    const auto column = [&](int x) { return border_index(x, image.width, reader.border); };
    const auto row = [&](int y) { return border_index(y, image.height, reader.border); };
    const int left = column(tap.x), right = column(wrapping_add(tap.x, kSide - 1));
    const int top = row(tap.y), bottom = row(wrapping_add(tap.y, kSide - 1));
    const Image<const T> patch{.data = &image.at(top, left, 0),
                               .height = kSide,
                               .width = kSide,
                               .stride_y = (bottom - top) * image.stride_y,
                               .stride_x = (right - left) * image.stride_x,
                               .stride_c = image.stride_c};
    tap.x = tap.y = 0;
    read_tap(reader, patch, tap, values);
  }

 private:
  // Views the pixels around a tap as an image whose size the compiler knows, so that no border test
  // is left.
  template <int kStrideX>
  ORBBEC_HD void read_patch(const Reader& reader, Tap tap, int64_t channel, int64_t channels,
                            float (&values)[kMaxFills]) const {
    const Image<const T> patch{.data = data + tap.y * stride_y + tap.x * kStrideX,
                               .height = kSide,
                               .width = kSide,
                               .stride_y = stride_y,
                               .stride_x = kStrideX,
                               .stride_c = channel};
    tap.x = tap.y = 0;
    tap.valid = true;
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c)
      values[c] = c < channels ? reader.value(patch, tap, c) : 0.0f;
  }
};

}  // namespace orbbec
