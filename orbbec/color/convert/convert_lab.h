// RGB to and from LAB of uint8: OpenCV's integers and lookup tables. Included by convert.h.
#pragma once

#include "../pointwise.h"

namespace orbbec {

// Offsets of the tables that lab_tables.py describes.
struct LabLuts {
  static constexpr int kLinear = 0, kCubeRoots = 256, kLight = 3328, kRoots = 3584, kEncoded = 3840,
                       kEntries = 7936;
};

// The tables are an argument and may hold anything: indices are clamped, and sums wrap.
ORBBEC_HD int entry_of(int begin, int end, int index) {
  return begin + clamp_int(index, 0, end - begin - 1);
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

struct RgbToLab : ColorRule<RgbToLab, 3, 3> {
  static constexpr int kValues = 3, kStages = 4;
  const int32_t* luts;

  ORBBEC_HD void operator()(const int (&rgb)[3], int (&lab)[3], InVector<true>) const {
    run_stages(*this, rgb, lab);
  }

  // Linear light, the indices of its sums X, Y and Z, their cube roots, and LAB.
  template <int kStage>
  ORBBEC_HD void stage(int (&v)[3]) const {
    const int a = v[0], b = v[1], c = v[2];
    if constexpr (kStage == 0) {
      for (int& value : v) value = luts[LabLuts::kLinear + value];
    } else if constexpr (kStage == 1) {
      v[0] = index_of(weighted_sum(1777, a, 1541, b, 778, c));
      v[1] = index_of(weighted_sum(871, a, 2929, b, 296, c));
      v[2] = index_of(weighted_sum(73, a, 448, b, 3575, c));
    } else if constexpr (kStage == 2) {
      for (int& value : v) value = luts[value];
    } else {
      constexpr int kMiddle = 128 << 15, kBlack = (16 * 255 * 32768 + 50) / 100;
      v[0] = to_byte(rounded_shift(weighted_sum((116 * 255 + 50) / 100, b, -1, kBlack, 0, 0), 15));
      v[1] = to_byte(rounded_shift(weighted_sum(500, a, -500, b, 1, kMiddle), 15));
      v[2] = to_byte(rounded_shift(weighted_sum(200, b, -200, c, 1, kMiddle), 15));
    }
  }

  ORBBEC_HD static int index_of(int light) {
    return entry_of(LabLuts::kCubeRoots, LabLuts::kLight, rounded_shift(light, 12));
  }
};

struct LabToRgb : ColorRule<LabToRgb, 3, 3> {
  static constexpr int kValues = 4, kStages = 3;
  const int32_t* luts;

  ORBBEC_HD void operator()(const int (&lab)[3], int (&rgb)[3], InVector<true>) const {
    run_stages(*this, lab, rgb);
  }

  // Y and its cube root, the indices of linear light, and RGB.
  template <int kStage>
  ORBBEC_HD void stage(int (&v)[4]) const {
    if constexpr (kStage == 0) {
      v[3] = luts[LabLuts::kRoots + v[0]];
      v[0] = luts[LabLuts::kLight + v[0]];
    } else if constexpr (kStage == 1) {
      const int x = cube(weighted_sum(1, v[3], 1, ((5 * v[1] * 53687 + 128) >> 13) - 4194, 0, 0));
      const int y = v[0];
      const int z = cube(weighted_sum(1, v[3], 1, 10484 - ((v[2] * 41943 + 16) >> 9), 0, 0));
      v[0] = index_of(weighted_sum(12615, x, -6296, y, -2223, z));
      v[1] = index_of(weighted_sum(-3773, x, 7684, y, 185, z));
      v[2] = index_of(weighted_sum(217, x, -836, y, 4715, z));
    } else {
      for (int c = 0; c < 3; ++c) v[c] = luts[v[c]];
    }
  }

  // Light in 16384ths by cube root; linear near zero.
  ORBBEC_HD static int cube(int root) {
    constexpr int kLine = 3390, kBlack = 290, kFirst = -8145, kLast = 28718;
    const int r = clamp_int(root, kFirst, kLast);
    return choose(r <= kLine, r * 108 / 841 - kBlack, ((r * r) >> 14) * r >> 14);
  }

  ORBBEC_HD static int index_of(int light) {
    return entry_of(LabLuts::kEncoded, LabLuts::kEntries, rounded_shift(light, 14));
  }
};

}  // namespace orbbec
