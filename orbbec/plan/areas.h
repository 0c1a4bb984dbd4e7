// Random crops: areas and aspect ratios drawn until one fits. Included by draw.h and geometry.h.
#pragma once

#include "../core/elementary.h"
#include "../core/philox.h"

namespace orbbec {

struct AreaRange {
  double scale[2], ratio[2];  // of the area relative to the image's; of the sides
  double log_ratio[2];
  bool transposed;  // ratio is height / width, and both sides are smaller than the image's

  ORBBEC_HD AreaRange(const double* numbers, bool transposed) : transposed(transposed) {
    for (int i = 0; i < 2; ++i) {
      scale[i] = numbers[i];
      ratio[i] = numbers[2 + i];
      log_ratio[i] = numbers[4 + i];
    }
  }
};

struct Area {
  bool fits;
  double height, width, top, left;  // whole numbers, in pixels
};

constexpr int kAreaTries = 10;

// Draws 4 numbers per try: area, ratio, vertical and horizontal position.
ORBBEC_HD Area draw_area(const AreaRange& range, double rows, double columns,
                         PhiloxStream& stream) {
  for (int i = 0; i < kAreaTries; ++i) {
    const double fraction =
        range.scale[0] + double{stream.uniform()} * (range.scale[1] - range.scale[0]);
    const double area = rows * columns * fraction;
    const double exponent =
        range.log_ratio[0] + double{stream.uniform()} * (range.log_ratio[1] - range.log_ratio[0]);
    const double ratio = exponential(exponent);
    const double of_less = rint(sqrt(area / ratio)), of_more = rint(sqrt(area * ratio));
    const double height = range.transposed ? of_more : of_less;
    const double width = range.transposed ? of_less : of_more;
    const double y = double{stream.uniform()}, x = double{stream.uniform()};
    const bool fits = range.transposed
                          ? height < rows && width < columns
                          : height > 0 && width > 0 && height <= rows && width <= columns;
    if (!fits) continue;
    return {true, height, width, floor(y * (rows - height + 1)), floor(x * (columns - width + 1))};
  }
  return {};
}

}  // namespace orbbec
