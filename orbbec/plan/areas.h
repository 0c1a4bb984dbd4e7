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

// A rectangle to fill, in whole pixels.
struct Hole {
  double left, top, right, bottom;
};

// From one whole number to another; `last` at most `most`.
ORBBEC_HD double draw_whole(double first, double last, double most, PhiloxStream& stream) {
  const double low = first < most ? first : most, high = last < most ? last : most;
  return low + floor(double{stream.uniform()} * (high - low + 1));
}

// numbers: the ranges of height and width, as fractions of the image or in pixels; whether in
// pixels.
ORBBEC_HD_CALLED Hole draw_hole(const double* numbers, double rows, double columns,
                                PhiloxStream& stream) {
  const double sides[2] = {rows, columns};
  double start[2], end[2];
  for (int i = 0; i < 2; ++i) {
    const double low = numbers[2 * i], high = numbers[2 * i + 1];
    const double length = numbers[4] != 0
                              ? draw_whole(low, high, sides[i], stream)
                              : floor(sides[i] * (low + double{stream.uniform()} * (high - low)));
    start[i] = draw_whole(0, sides[i] - length, sides[i], stream);
    end[i] = start[i] + length;
  }
  return {start[1], start[0], end[1], end[0]};
}

// numbers: row, rows, column and columns of a cell of a grid, the hole's fraction of its sides,
// whether its position in the cell is random.
ORBBEC_HD_CALLED Hole draw_hole_of_cell(const double* numbers, double rows, double columns,
                                        PhiloxStream& stream) {
  const double sides[2] = {rows, columns};
  double start[2], end[2];
  for (int i = 0; i < 2; ++i) {
    const double index = numbers[2 * i], count = numbers[2 * i + 1];
    const double first = floor(index * sides[i] / count);
    const double length = floor((index + 1) * sides[i] / count) - first;
    const double part = floor(length * numbers[4]), least = part < 1 ? 1 : part;
    const double hole = least < length ? least : length < 1 ? 0 : length - 1;
    const double offset = numbers[5] != 0 ? draw_whole(0, length - hole, length, stream) : 0;
    start[i] = first + offset, end[i] = first + offset + hole;
  }
  return {start[1], start[0], end[1], end[0]};
}

constexpr int kAreaTries = 10;

// Draws 4 numbers per try: area, ratio, vertical and horizontal position.
ORBBEC_HD_CALLED Area draw_area(const AreaRange& range, double rows, double columns,
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
