// RGB to and from LAB of uint8: OpenCV's integers and tables. Included by convert.h.
#pragma once

#include "maps.h"

namespace orbbec {

// Where the tables of lab_tables.py begin, which says what they hold.
struct LabTables {
  static constexpr int kLinear = 0, kCubeRoots = 256, kLight = 3328, kRoots = 3584, kCubes = 3840,
                       kEncoded = 40704, kEntries = 44800;
  static constexpr int kFirstCube = -8145;
};

ORBBEC_HD int rounded_shift(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

struct RgbToLab {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  const int32_t* tables;

  ORBBEC_HD RgbToLab of(int64_t) const { return *this; }

  ORBBEC_HD void operator()(const int (&rgb)[3], int (&lab)[3], InVector<true>) const {
    const int32_t* const linear = tables + LabTables::kLinear;
    const int32_t* const cube_root = tables + LabTables::kCubeRoots;
    const int r = linear[rgb[0]], g = linear[rgb[1]], b = linear[rgb[2]];
    const int x = cube_root[rounded_shift(1777 * r + 1541 * g + 778 * b, 12)];
    const int y = cube_root[rounded_shift(871 * r + 2929 * g + 296 * b, 12)];
    const int z = cube_root[rounded_shift(73 * r + 448 * g + 3575 * b, 12)];
    constexpr int kMiddle = 128 << 15, kBlack = (16 * 255 * 32768 + 50) / 100;
    lab[0] = to_byte(rounded_shift((116 * 255 + 50) / 100 * y - kBlack, 15));
    lab[1] = to_byte(rounded_shift(500 * (x - y) + kMiddle, 15));
    lab[2] = to_byte(rounded_shift(200 * (y - z) + kMiddle, 15));
  }
};

struct LabToRgb {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  const int32_t* tables;

  ORBBEC_HD LabToRgb of(int64_t) const { return *this; }

  ORBBEC_HD void operator()(const int (&lab)[3], int (&rgb)[3], InVector<true>) const {
    const int32_t* const cubes = tables + LabTables::kCubes - LabTables::kFirstCube;
    const int y = tables[LabTables::kLight + lab[0]], root = tables[LabTables::kRoots + lab[0]];
    const int x = cubes[root + ((5 * lab[1] * 53687 + 128) >> 13) - 4194];
    const int z = cubes[root - ((lab[2] * 41943 + 16) >> 9) + 10484];
    rgb[0] = encoded(12615 * x - 6296 * y - 2223 * z);
    rgb[1] = encoded(-3773 * x + 7684 * y + 185 * z);
    rgb[2] = encoded(217 * x - 836 * y + 4715 * z);
  }

  ORBBEC_HD int encoded(int light) const {
    return tables[LabTables::kEncoded + clamp_int(rounded_shift(light, 14), 0, 4095)];
  }
};

}  // namespace orbbec
