// RGB to and from LAB of uint8: OpenCV's integers and lookup tables. Included by convert.h.
#pragma once

#include "../pointwise.h"

namespace orbbec {

// Offsets of the tables that lab_tables.py describes.
struct LabLuts {
  static constexpr int kLinear = 0, kCubeRoots = 256, kLight = 3328, kRoots = 3584, kCubes = 3840,
                       kEncoded = 40704, kEntries = 44800;
  static constexpr int kFirstCube = -8145;
};

// The tables are an argument and may hold anything: indices are clamped, and sums wrap.
ORBBEC_HD int lut_entry(const int32_t* luts, int begin, int end, int index) {
  return luts[begin + clamp_int(index, 0, end - begin - 1)];
}

ORBBEC_HD int rounded_shift(int value, int bits) {
  return static_cast<int>(static_cast<unsigned>(value) + (1u << (bits - 1))) >> bits;
}

ORBBEC_HD int weighted_sum(int a, int x, int b, int y, int c, int z) {
  const auto product = [](int i, int j) {
    return static_cast<unsigned>(i) * static_cast<unsigned>(j);
  };
  return static_cast<int>(product(a, x) + product(b, y) + product(c, z));
}

struct RgbToLab {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  const int32_t* luts;

  ORBBEC_HD RgbToLab of(int64_t) const { return *this; }

  ORBBEC_HD void operator()(const int (&rgb)[3], int (&lab)[3], InVector<true>) const {
    const int32_t* const linear = luts + LabLuts::kLinear;
    const int r = linear[rgb[0]], g = linear[rgb[1]], b = linear[rgb[2]];
    const int x = cube_root(weighted_sum(1777, r, 1541, g, 778, b));
    const int y = cube_root(weighted_sum(871, r, 2929, g, 296, b));
    const int z = cube_root(weighted_sum(73, r, 448, g, 3575, b));
    constexpr int kMiddle = 128 << 15, kBlack = (16 * 255 * 32768 + 50) / 100;
    lab[0] = to_byte(rounded_shift(weighted_sum((116 * 255 + 50) / 100, y, -1, kBlack, 0, 0), 15));
    lab[1] = to_byte(rounded_shift(weighted_sum(500, x, -500, y, 1, kMiddle), 15));
    lab[2] = to_byte(rounded_shift(weighted_sum(200, y, -200, z, 1, kMiddle), 15));
  }

  ORBBEC_HD int cube_root(int light) const {
    return lut_entry(luts, LabLuts::kCubeRoots, LabLuts::kLight, rounded_shift(light, 12));
  }
};

struct LabToRgb {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  const int32_t* luts;

  ORBBEC_HD LabToRgb of(int64_t) const { return *this; }

  ORBBEC_HD void operator()(const int (&lab)[3], int (&rgb)[3], InVector<true>) const {
    const int y = luts[LabLuts::kLight + lab[0]], root = luts[LabLuts::kRoots + lab[0]];
    const int x = cube(root, ((5 * lab[1] * 53687 + 128) >> 13) - 4194);
    const int z = cube(root, 10484 - ((lab[2] * 41943 + 16) >> 9));
    rgb[0] = encoded(weighted_sum(12615, x, -6296, y, -2223, z));
    rgb[1] = encoded(weighted_sum(-3773, x, 7684, y, 185, z));
    rgb[2] = encoded(weighted_sum(217, x, -836, y, 4715, z));
  }

  ORBBEC_HD int cube(int root, int more) const {
    const int index = weighted_sum(1, root, 1, more, -1, LabLuts::kFirstCube);
    return lut_entry(luts, LabLuts::kCubes, LabLuts::kEncoded, index);
  }

  ORBBEC_HD int encoded(int light) const {
    return lut_entry(luts, LabLuts::kEncoded, LabLuts::kEntries, rounded_shift(light, 14));
  }
};

}  // namespace orbbec
