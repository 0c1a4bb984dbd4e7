// libjpeg's chroma upsampling ("fancy upsampling") and color conversion in 16-bit fixed point.
// Integer arithmetic, identical on every device. Included by jpeg/ and color/ycbcr/.
//
// Source: ITU-T T.871 (the colors); libjpeg's documentation (fancy upsampling).
#pragma once

#include "common.h"

namespace orbbec {

// Numbers of one column, and pairs of them that are multiplied by constants and added. Each has 16
// bits. jpeg/columns.h has the versions for several columns.
struct OneColumn {
  using V = int;
  using Sum = int;  // of products
  struct Pair {
    int a, b;
  };

  ORBBEC_HD static Pair pair(int a, int b) { return {a, b}; }
  template <int kA, int kB>
  ORBBEC_HD static int sum(const Pair& pair) {
    return pair.a * kA + pair.b * kB;
  }
  ORBBEC_HD static float to_float(int value) { return static_cast<float>(value); }
  ORBBEC_HD static int truncate(float value) { return static_cast<int>(value); }
  ORBBEC_HD static int to_byte(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }
};

constexpr int kColorBits = 16, kColorHalf = 1 << (kColorBits - 1);

template <class V>
struct Color {
  V red, green, blue;
};

// 91881 Cr gives red, -22554 Cb - 46802 Cr green, 116130 Cb blue. Factors that do not fit 16 bits
// are split in two, one of them a power of 2.
template <class Columns, class V = typename Columns::V>
ORBBEC_HD Color<V> color_of(const V& luma, const V& cb, const V& cr) {
  const V blue = cb - 128, red = cr - 128;
  using Sum = typename Columns::Sum;
  const auto both = Columns::pair(blue, red);
  const Sum to_red = Columns::template sum<0, 91881 - 65536>(both) + kColorHalf;
  const Sum to_green =
      Columns::template sum<-22554, 32768 - 46802>(both) - red * 32768 + kColorHalf;
  const Sum to_blue = Columns::template sum<116130 - 131072, 0>(both) + kColorHalf;
  return {Columns::to_byte(luma + red + (to_red >> kColorBits)),
          Columns::to_byte(luma + (to_green >> kColorBits)),
          Columns::to_byte(luma + blue + blue + (to_blue >> kColorBits))};
}

// Chroma that is halved along both axes: three parts of the near row and one of the far, then of
// the near and far columns. Values halfway between two numbers are rounded up and down alternately.
// V: int, or a vector of 16-bit numbers.
template <class V>
ORBBEC_HD V blended_rows(const V& near, const V& far) {
  return near * 3 + far;
}
template <class V>
ORBBEC_HD V blended_columns(const V& near, const V& far, bool is_odd) {
  return (near * 3 + far + (is_odd ? V{} + 7 : V{} + 8)) >> 4;
}
ORBBEC_HD int blend_rows(int near, int far) { return blended_rows(near, far); }
ORBBEC_HD int blend_columns(int near, int far, int64_t x) {
  return blended_columns(near, far, (x & 1) != 0);
}

// The same along the one axis that is halved.
template <class V>
ORBBEC_HD V blended_pair(const V& near, const V& far, bool is_odd) {
  return (near * 3 + far + (is_odd ? V{} + 2 : V{} + 1)) >> 2;
}
ORBBEC_HD int blend_pair(int near, int far, int64_t index) {
  return blended_pair(near, far, (index & 1) != 0);
}

}  // namespace orbbec
