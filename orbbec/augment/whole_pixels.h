// Crops, flips and shifts by whole pixels: an output pixel is one pixel of the image, or outside of
// it. Included by augment_rows.h, under its targets.
#pragma once

#include "scalar_rows.h"

namespace orbbec {

// The pixels that one image's output reads.
template <class Reader>
class WholePixels {
 public:
  using T = typename Reader::Value;

  WholePixels(const Reader& reader, int64_t n)
      : image_(reader.source[n]),
        border_(reader.border),
        shift_(reader.transform.matrices + n * reader.transform.stride) {}

  // Whether columns of row y from `begin` on interpolate nothing. Zero times a float may be NaN.
  ORBBEC_HD bool serves(int y, int begin) const {
    constexpr bool kIsExact = sizeof(T) == 1 || kTapsOf<typename Reader::Sampler> == 1;
    const bool has_pixels = image_.height > 0 && image_.width > 0;
    return kIsExact && has_pixels && shift_.is_whole && y < kExactSide && begin < kExactSide;
  }

  ORBBEC_HD bool is_reversed() const { return shift_.step_x < 0; }

  // Elements from a pixel to that of the next column.
  ORBBEC_HD int64_t stride() const { return shift_.step_x * image_.stride_x; }

  // Of `count` columns of row y, starting at `begin`, those that read inside the image.
  ORBBEC_HD Span inside(int y, int begin, int count) const {
    const int64_t first = source_column(begin), last = image_.width - 1;
    if (source_row(y) < 0 || source_row(y) >= image_.height) return {0, 0};
    const int64_t before = is_reversed() ? first - last : -first;
    const int64_t to_end = is_reversed() ? first + 1 : last - first + 1;
    const int first_inside = clamp_to_size(before, count);
    return {first_inside, larger(clamp_to_size(to_end, count), first_inside)};
  }

  // The pixel of output (y, x), inside the image.
  ORBBEC_HD const T* at(int y, int x) const {
    return &image_.at(static_cast<int>(source_row(y)), static_cast<int>(source_column(x)), 0);
  }

  // The pixel of output (y, x) where a border repeats those of the image.
  ORBBEC_HD const T* at_border(int y, int x) const {
    const int column = border_index(static_cast<int>(source_column(x)), image_.width, border_);
    return &image_.at(static_cast<int>(source_row(y)), column, 0);
  }

 private:
  ORBBEC_HD int64_t source_column(int x) const { return int64_t{shift_.step_x} * x + shift_.left; }

  ORBBEC_HD int64_t source_row(int y) const {
    const int64_t row = int64_t{shift_.step_y} * y + shift_.top;
    return outside_is_value(border_) ? row
                                     : border_index(static_cast<int>(row), image_.height, border_);
  }

  Image<const T> image_;
  Border border_;
  WholeShift shift_;
};

}  // namespace orbbec
