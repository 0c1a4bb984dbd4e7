// What libjpeg makes of the planes of a JPEG: chroma that is enlarged with blending ("fancy
// upsampling"), and colours in 16-bit fixed point. Integers, the same on every device. Included by
// jpeg/ and ycbcr/.
//
// Source: ITU-T T.871 (the colours); libjpeg's documentation (fancy upsampling).
#pragma once

#include "common.h"

namespace orbbec {

// Numbers of one column, and two of them that are multiplied by constants and added. Each is of 16
// bits. jpeg/columns.h has those of several columns.
struct OneColumn {
  using V = int;
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

// 91881 times redness makes red, -22554 times blueness and -46802 times redness green, 116130 times
// blueness blue. Factors that 16 bits do not hold are split in two, one of them a power of 2.
template <class Columns, class V = typename Columns::V>
ORBBEC_HD Color<V> color_of(const V& luma, const V& blueness, const V& redness) {
  const V blue = blueness - 128, red = redness - 128;
  const auto both = Columns::pair(blue, red);
  const V to_red = Columns::template sum<0, 91881 - 65536>(both) + kColorHalf;
  const V to_green = Columns::template sum<-22554, 32768 - 46802>(both) - red * 32768 + kColorHalf;
  const V to_blue = Columns::template sum<116130 - 131072, 0>(both) + kColorHalf;
  return {Columns::to_byte(luma + red + (to_red >> kColorBits)),
          Columns::to_byte(luma + (to_green >> kColorBits)),
          Columns::to_byte(luma + blue * 2 + (to_blue >> kColorBits))};
}

// A value of chroma that is halved along both axes: three parts of the near row and one of the far;
// then of the near column and of the far. What lies between two numbers is rounded up and down by
// turns.
ORBBEC_HD int blend_rows(int near, int far) { return 3 * near + far; }
ORBBEC_HD int blend_columns(int near, int far, int64_t x) {
  return (3 * near + far + 8 - static_cast<int>(x & 1)) >> 4;
}

// The same along the one axis that is halved.
ORBBEC_HD int blend_pair(int near, int far, int64_t place) {
  return (3 * near + far + 1 + static_cast<int>(place & 1)) >> 2;
}

}  // namespace orbbec
