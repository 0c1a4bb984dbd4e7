// Random crops: areas and aspect ratios drawn until one fits. Included by coordinates.h and
// binding.cpp.
#pragma once

#include <cmath>

#include "../core/philox.h"

namespace orbbec {

struct AreaRange {
  double scale[2], ratio[2];  // of the area relative to the image's; of the sides
  bool transposed;  // ratio is height / width, and both sides are smaller than the image's
};

struct Area {
  bool fits;
  double height, width, top, left;  // integers, in pixels
};

constexpr int kAreaTries = 10;

// Draws 4 numbers per try: area, ratio, vertical and horizontal position.
inline Area draw_area(const AreaRange& range, int64_t rows, int64_t columns, PhiloxStream& stream) {
  const double low = std::log(range.ratio[0]), high = std::log(range.ratio[1]);
  const auto number = [&] { return static_cast<double>(stream.uniform()); };
  for (int i = 0; i < kAreaTries; ++i) {
    const double area_fraction = range.scale[0] + number() * (range.scale[1] - range.scale[0]);
    const double area = static_cast<double>(rows * columns) * area_fraction;
    const double ratio = std::exp(low + number() * (high - low));
    const double of_less = std::rint(std::sqrt(area / ratio));
    const double of_more = std::rint(std::sqrt(area * ratio));
    const double height = range.transposed ? of_more : of_less;
    const double width = range.transposed ? of_less : of_more;
    const double fraction_y = number(), fraction_x = number();
    const auto h = static_cast<double>(rows), w = static_cast<double>(columns);
    const bool fits = range.transposed ? height < h && width < w
                                       : height > 0 && width > 0 && height <= h && width <= w;
    if (!fits) continue;
    return {.fits = true,
            .height = height,
            .width = width,
            .top = std::floor(fraction_y * (h - height + 1)),
            .left = std::floor(fraction_x * (w - width + 1))};
  }
  return {};
}

}  // namespace orbbec
