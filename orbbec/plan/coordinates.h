// Draws the coordinate transforms of a pipeline for an image: output-to-source matrices, boxes,
// sizes. Included by binding.cpp.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "areas.h"

namespace orbbec {

enum class Coordinate {
  kResize,         // height, width
  kResizeShorter,  // side, maximum of the longer side or 0
  kResizeArea,     // height, width, range of scale, range of ratio
  kCrop,           // height, width, padding left, top, right, bottom, whether to pad if needed
  kCenterCrop,     // height, width
  kFlipColumns,    // probability
  kFlipRows,       // probability
};
constexpr int kCoordinateKinds = 7;
constexpr int kCoordinateNumbers =
    10;  // kind, position, whether it begins a pass, parameters of the kind

// The state of an image within a pass.
struct ImageState {
  int64_t height, width;      // of the output so far
  double matrix[9];           // output to source pixels of the pass
  double box[4];              // left, top, right, bottom of the input of the first transform
  bool is_first, is_flipped;  // before the first transform; flipped horizontally
};

inline ImageState image_state(int64_t height, int64_t width) {
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  return {.height = height,
          .width = width,
          .matrix = {1, 0, 0, 0, 1, 0, 0, 0, 1},
          .box = {0, 0, w, h},
          .is_first = true,
          .is_flipped = false};
}

// Maps output pixel x to `scale` * x + `shift`, along x and y.
inline void transform(ImageState& p, const double (&scale)[2], const double (&shift)[2]) {
  if (p.is_first) {
    p.matrix[0] = scale[0], p.matrix[2] = shift[0];
    p.matrix[4] = scale[1], p.matrix[5] = shift[1];
  } else {
    for (int axis = 0; axis < 2; ++axis) {
      double& factor = p.matrix[4 * axis];
      double& offset = p.matrix[3 * axis + 2];
      offset = factor * shift[axis] + offset;
      factor *= scale[axis];
    }
  }
  p.is_first = false;
}

// The region of the image that becomes the output, in pixels; may extend outside the image.
struct Rect {
  double left, top, width, height;
};

inline void set_box(ImageState& p, const Rect& rect) {
  if (!p.is_first) return;
  p.box[0] = rect.left, p.box[1] = rect.top;
  p.box[2] = rect.left + rect.width, p.box[3] = rect.top + rect.height;
}

// Half-pixel centers, as in cv2.resize and torchvision.
inline void resize(ImageState& p, const Rect& rect, int64_t height, int64_t width) {
  const double scale[2] = {rect.width / static_cast<double>(width),
                           rect.height / static_cast<double>(height)};
  set_box(p, rect);
  transform(p, scale, {rect.left + 0.5 * scale[0] - 0.5, rect.top + 0.5 * scale[1] - 0.5});
  p.height = height, p.width = width;
}

inline void crop(ImageState& p, double left, double top, int64_t height, int64_t width) {
  set_box(p, {left, top, static_cast<double>(width), static_cast<double>(height)});
  transform(p, {1, 1}, {left, top});
  p.height = height, p.width = width;
}

inline Rect whole(const ImageState& p) {
  return {0, 0, static_cast<double>(p.width), static_cast<double>(p.height)};
}

inline void resize_shorter(ImageState& p, int64_t side, int64_t longest) {
  const int64_t shorter = std::min(p.height, p.width), longer = std::max(p.height, p.width);
  const auto ratio_of = [](int64_t side, int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<double>(side * a) / static_cast<double>(b));
  };
  int64_t to_short = side, to_long = ratio_of(side, longer, shorter);
  if (longest > 0 && to_long > longest) {
    to_short = ratio_of(longest, to_short, to_long);
    to_long = longest;
  }
  const bool upright = p.width <= p.height;
  resize(p, whole(p), std::max<int64_t>(upright ? to_long : to_short, 1),
         std::max<int64_t>(upright ? to_short : to_long, 1));
}

// The largest centered region whose ratio is in range.
inline Rect middle_of(const ImageState& p, const double (&ratio)[2]) {
  const auto h = static_cast<double>(p.height), w = static_cast<double>(p.width);
  const double own = w / h;
  const double width = own > ratio[1] ? std::rint(h * ratio[1]) : w;
  const double height = own < ratio[0] ? std::rint(w / ratio[0]) : h;
  return {std::floor((w - width) / 2), std::floor((h - height) / 2), width, height};
}

inline void resize_area(ImageState& p, const double* numbers, PhiloxStream& stream) {
  const AreaRange range{{numbers[2], numbers[3]}, {numbers[4], numbers[5]}, false};
  const Area area = draw_area(range, p.height, p.width, stream);
  const Rect rect =
      area.fits ? Rect{area.left, area.top, area.width, area.height} : middle_of(p, range.ratio);
  resize(p, rect, static_cast<int64_t>(numbers[0]), static_cast<int64_t>(numbers[1]));
}

// Returns false if the image is too small.
inline bool crop_anywhere(ImageState& p, const double* numbers, PhiloxStream& stream) {
  const auto whole_number = [&](int i) { return static_cast<int64_t>(numbers[i]); };
  const int64_t height = whole_number(0), width = whole_number(1);
  int64_t rows = p.height + whole_number(3) + whole_number(5);
  int64_t columns = p.width + whole_number(2) + whole_number(4);
  int64_t above = whole_number(3), before = whole_number(2);
  if (numbers[6] != 0) {
    const int64_t lacking_rows = std::max<int64_t>(height - rows, 0);
    const int64_t lacking_columns = std::max<int64_t>(width - columns, 0);
    rows += 2 * lacking_rows, columns += 2 * lacking_columns;
    above += lacking_rows, before += lacking_columns;
  }
  if (rows < height || columns < width) return false;
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(static_cast<double>(stream.uniform()) * static_cast<double>(n));
  };
  const int64_t y = below(rows - height + 1), x = below(columns - width + 1);
  crop(p, static_cast<double>(x - before), static_cast<double>(y - above), height, width);
  return true;
}

// The box does not include what lies outside the image.
inline void crop_center(ImageState& p, int64_t height, int64_t width) {
  const auto begin = [](int64_t over) {
    return over < 0 ? static_cast<double>(-(-over / 2)) : std::rint(static_cast<double>(over) / 2);
  };
  const double right = static_cast<double>(p.width), bottom = static_cast<double>(p.height);
  const bool is_first = p.is_first;
  crop(p, begin(p.width - width), begin(p.height - height), height, width);
  if (!is_first) return;
  for (int i = 0; i < 4; ++i) p.box[i] = std::clamp(p.box[i], 0.0, i % 2 == 0 ? right : bottom);
}

inline void flip(ImageState& p, int axis, double probability, PhiloxStream& stream) {
  if (!(static_cast<double>(stream.uniform()) < probability)) {
    p.is_first = false;
    return;
  }
  const auto last = static_cast<double>((axis == 0 ? p.width : p.height) - 1);
  const double along_x[2] = {axis == 0 ? -1.0 : 1.0, axis == 0 ? 1.0 : -1.0};
  transform(p, along_x, {axis == 0 ? last : 0, axis == 0 ? 0 : last});
  p.is_flipped ^= axis == 0;
}

// Returns false if the image is too small for a crop.
inline bool apply_transform(ImageState& p, Coordinate kind, const double* numbers,
                            PhiloxStream& stream) {
  const auto side = [&](int i) { return static_cast<int64_t>(numbers[i]); };
  switch (kind) {
    case Coordinate::kResize:
      resize(p, whole(p), side(0), side(1));
      return true;
    case Coordinate::kResizeShorter:
      resize_shorter(p, side(0), side(1));
      return true;
    case Coordinate::kResizeArea:
      resize_area(p, numbers, stream);
      return true;
    case Coordinate::kCrop:
      return crop_anywhere(p, numbers, stream);
    case Coordinate::kCenterCrop:
      crop_center(p, side(0), side(1));
      return true;
    case Coordinate::kFlipColumns:
      flip(p, 0, numbers[0], stream);
      return true;
    case Coordinate::kFlipRows:
      flip(p, 1, numbers[0], stream);
      return true;
  }
  return false;
}

}  // namespace orbbec
