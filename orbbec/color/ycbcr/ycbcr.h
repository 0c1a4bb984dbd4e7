// ycbcr_to_rgb: RGB from JPEG planes, bit-identical to libjpeg. Included by ycbcr_cpu.cpp,
// ycbcr_cuda.cu and binding.cpp.
#pragma once

#include "../../core/stored_image.h"

namespace orbbec {

// A view of an upright image in the stored orientation.
ORBBEC_HD Image<uint8_t> as_stored(Image<uint8_t> image, int64_t orientation) {
  if (is_transposed(orientation)) {
    image = {.data = image.data,
             .height = image.width,
             .width = image.height,
             .stride_y = image.stride_x,
             .stride_x = image.stride_y,
             .stride_c = image.stride_c};
  }
  if (is_flipped(orientation)) {
    image.data += (image.height - 1) * image.stride_y;
    image.stride_y = -image.stride_y;
  }
  if (is_mirrored(orientation)) {
    image.data += (image.width - 1) * image.stride_x;
    image.stride_x = -image.stride_x;
  }
  return image;
}

// The pixels of a stored image from `left` and `top` to before `right` and `bottom`.
struct StoredBox {
  int left, top, right, bottom;
};

// A batch: the stored images, and the upright RGB images.
struct YcbcrToRgb {
  StoredImages stored;
  Images<uint8_t> output;
  const int64_t* boxes;  // [N, 4]: the StoredBox that is needed of each image; null: all of it

  static constexpr int kStep = 4;  // pixels: the left side is a multiple

  // What is converted of an image.
  ORBBEC_HD StoredBox box(int64_t n, const Image<uint8_t>& to) const {
    if (boxes == nullptr) return {0, 0, to.width, to.height};
    const int64_t* const box = boxes + 4 * n;
    return {clamp_to_size(box[0], to.width) / kStep * kStep, clamp_to_size(box[1], to.height),
            clamp_to_size(box[2], to.width), clamp_to_size(box[3], to.height)};
  }

  // The output pixels of an image in stored order; empty if the tables do not match.
  ORBBEC_HD Image<uint8_t> index(int64_t n, const StoredImage& image) const {
    Image<uint8_t> to = output[n];
    if (stored.has_size(n, image, to.height, to.width)) return as_stored(to, stored.orientation(n));
    to.height = to.width = 0;
    return to;
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const StoredImage image = stored[n];
    const Image<uint8_t> to = index(n, image);
    if (!to.contains(y, x)) return;
    const Color<int> color = image.color(y, x);
    to.at(y, x, 0) = static_cast<uint8_t>(color.red);
    to.at(y, x, 1) = static_cast<uint8_t>(color.green);
    to.at(y, x, 2) = static_cast<uint8_t>(color.blue);
  }
};

}  // namespace orbbec
