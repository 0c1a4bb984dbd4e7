// The operations of RandAugment, TrivialAugmentWide and AutoAugment: which number each has, how
// strong it is, how it moves pixels. Included by colors.h and draw.h.
#pragma once

#include "geometry.h"

namespace orbbec {

// In the order of transforms/auto.py.
enum class Operation {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
  kSolarizeAdd
};

ORBBEC_HD Operation operation_of(double number) {
  return static_cast<Operation>(static_cast<int>(smaller(larger(number, 0.0), 15.0)));
}

// The largest strength of the operations, in the order of Space in transforms/auto.py.
struct Space {
  double shear, degrees, factor, bits, most_bits, shift, fraction, levels;  // shift < 0: a fraction

  ORBBEC_HD explicit Space(const double* c)
      : shear(c[0]),
        degrees(c[1]),
        factor(c[2]),
        bits(c[3]),
        most_bits(c[4]),
        shift(c[5]),
        fraction(c[6]),
        levels(c[7]) {}

  ORBBEC_HD double shift_of(double side) const { return shift < 0 ? side * fraction : shift; }
};

// The strength of an operation at a level from 0 to 1; its sign is random where it has a direction.
ORBBEC_HD_CALLED double magnitude_of(const Space& space, Operation operation, double level,
                                     double sign_draw, Geometry g) {
  double value = 0;
  switch (operation) {
    case Operation::kPosterize:
      return rint(space.most_bits - level * space.bits);
    case Operation::kSolarize:
      if (space.levels > 0) return (space.levels - trunc(level * space.levels)) / 255.0;
      return 1.0 - level;
    case Operation::kSolarizeAdd:  // timm's: up to 110 levels
      return trunc(level * 110.0) / 255.0;
    case Operation::kShearX:
    case Operation::kShearY:
      value = level * space.shear;
      break;
    case Operation::kTranslateX:
      value = level * space.shift_of(g.width());
      break;
    case Operation::kTranslateY:
      value = level * space.shift_of(g.height());
      break;
    case Operation::kRotate:
      value = level * space.degrees;
      break;
    case Operation::kBrightness:
    case Operation::kColor:
    case Operation::kContrast:
    case Operation::kSharpness:
      value = level * space.factor;
      break;
    default:
      return level * 0.0;
  }
  return sign_draw <= 0.5 ? -value : value;
}

// Shears are about the top-left corner of the image.
ORBBEC_HD_CALLED void auto_warp(Geometry g, Operation operation, double magnitude) {
  AffineNumbers a{0, {0, 0}, {1, 1}, {0, 0}};
  if (operation == Operation::kRotate) a.angle = -magnitude;
  if (operation == Operation::kTranslateX) a.shift[0] = trunc(magnitude);
  if (operation == Operation::kTranslateY) a.shift[1] = trunc(magnitude);
  const double size[2] = {g.width(), g.height()}, center[2] = {0, 0};
  Matrix3 matrix = affine_matrix(a, center, size, size);
  const double shear_x = operation == Operation::kShearX ? magnitude : 0.0;
  const double shear_y = operation == Operation::kShearY ? magnitude : 0.0;
  matrix.m[1] += shear_x, matrix.m[2] += 0.5 * shear_x;
  matrix.m[3] += shear_y, matrix.m[5] += 0.5 * shear_y;
  g.warp(matrix, size[1], size[0]);
}

}  // namespace orbbec
