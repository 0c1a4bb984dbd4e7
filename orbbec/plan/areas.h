// Random parts of images: areas and aspect ratios drawn until one fits. Included by coordinates.h
// and binding.cpp.
#pragma once

#include <cmath>

#include "../core/philox.h"

namespace orbbec {

struct AreaRange {
  double scale[2], ratio[2];  // of the area to the image's; of the sides
  bool transposed;            // ratio is height to width, and both sides are below the image's
};

struct Area {
  bool fits;
  double height, width, top, left;  // whole pixels
};

constexpr int kAreaTries = 10;

// Takes 4 numbers a try: area, ratio, and a position down and along the image.
inline Area draw_area(const AreaRange& range, int64_t rows, int64_t columns, PhiloxStream& stream) {
  const double low = std::log(range.ratio[0]), high = std::log(range.ratio[1]);
  const auto number = [&] { return static_cast<double>(stream.uniform()); };
  for (int i = 0; i < kAreaTries; ++i) {
    const double share = range.scale[0] + number() * (range.scale[1] - range.scale[0]);
    const double area = static_cast<double>(rows * columns) * share;
    const double ratio = std::exp(low + number() * (high - low));
    const double of_less = std::rint(std::sqrt(area / ratio));
    const double of_more = std::rint(std::sqrt(area * ratio));
    const double height = range.transposed ? of_more : of_less;
    const double width = range.transposed ? of_less : of_more;
    const double down = number(), along = number();
    const auto h = static_cast<double>(rows), w = static_cast<double>(columns);
    const bool fits = range.transposed ? height < h && width < w
                                       : height > 0 && width > 0 && height <= h && width <= w;
    if (!fits) continue;
    return {true, height, width, std::floor(down * (h - height + 1)),
            std::floor(along * (w - width + 1))};
  }
  return {};
}

}  // namespace orbbec
