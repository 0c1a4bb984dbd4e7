// Images as JPEGs hold them: planes of luma and chroma, chroma whole or halved, not yet turned.
// Included by ycbcr/ and augment/.
#pragma once

#include "image.h"
#include "ycc.h"

namespace orbbec {

// How an image is stored: RGB side by side; luma alone; or luma, blueness and redness one after the
// other, chroma whole or halved along the columns, the rows or both. The numbers are those of
// SAMPLINGS in batch/plane_batch.py and of data/jpeg_planes.cpp.
enum class Sampling : int64_t { kRgb, kGray, k444, k422, k440, k420 };

struct StoredImage {
  const uint8_t* data;
  int height, width;
  Sampling sampling;

  ORBBEC_HD bool halves_rows() const {
    return sampling == Sampling::k440 || sampling == Sampling::k420;
  }
  ORBBEC_HD bool halves_columns() const {
    return sampling == Sampling::k422 || sampling == Sampling::k420;
  }
  ORBBEC_HD int chroma_height() const { return halves_rows() ? height / 2 + height % 2 : height; }
  ORBBEC_HD int chroma_width() const { return halves_columns() ? width / 2 + width % 2 : width; }

  ORBBEC_HD int64_t bytes() const {
    const int64_t pixels = int64_t{height} * width;
    if (sampling == Sampling::kRgb) return 3 * pixels;
    if (sampling == Sampling::kGray) return pixels;
    return pixels + 2 * int64_t{chroma_height()} * chroma_width();
  }

  ORBBEC_HD const uint8_t* luma_row(int y) const { return data + int64_t{y} * width; }

  // Of blueness, plane 0, or redness, 1.
  ORBBEC_HD const uint8_t* chroma_row(int plane, int y) const {
    const int64_t row = plane * int64_t{chroma_height()} + y;
    return data + int64_t{height} * width + row * chroma_width();
  }

  // libjpeg does not blend halved columns where there are 2 or less, and then not their rows
  // either.
  ORBBEC_HD bool is_blended() const { return !halves_columns() || chroma_width() > 2; }

  // The row or column of chroma, of `size`, that pixel `p` is blended with its own, p / 2, from.
  ORBBEC_HD int other(int p, int size) const {
    const int own = p / 2, next = p % 2 == 0 ? own - 1 : own + 1;
    return !is_blended() || next < 0 || next >= size ? own : next;
  }

  // Chroma of a pixel: up to four reads.
  ORBBEC_HD int chroma(int plane, int y, int x) const {
    const int row = halves_rows() ? y / 2 : y, column = halves_columns() ? x / 2 : x;
    const uint8_t* const near = chroma_row(plane, row);
    if (!halves_rows() && !halves_columns()) return near[column];
    const int far_column = halves_columns() ? other(x, chroma_width()) : column;
    if (!halves_rows()) return blend_pair(near[column], near[far_column], x);
    const uint8_t* const far = chroma_row(plane, other(y, chroma_height()));
    if (!halves_columns()) return blend_pair(near[column], far[column], y);
    return blend_columns(blend_rows(near[column], far[column]),
                         blend_rows(near[far_column], far[far_column]), x);
  }

  ORBBEC_HD Color<int> color(int y, int x) const {
    if (sampling == Sampling::kRgb) {
      const uint8_t* const pixel = data + (int64_t{y} * width + x) * 3;
      return {pixel[0], pixel[1], pixel[2]};
    }
    const int luma = luma_row(y)[x];
    if (sampling == Sampling::kGray) return {luma, luma, luma};
    return color_of<OneColumn, int>(luma, chroma(0, y, x), chroma(1, y, x));
  }
};

// The orientations that EXIF has: rows and columns exchanged, and walked backwards.
constexpr int64_t kLastOrientation = 8;
ORBBEC_HD bool is_turned(int64_t orientation) { return orientation >= 5; }
ORBBEC_HD bool is_upside_down(int64_t orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}
ORBBEC_HD bool is_mirrored(int64_t orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

// A batch: places and sizes of the images as they are stored.
struct StoredImages {
  Images<const uint8_t> planes;
  const int64_t* forms;  // [N, 2]: sampling, orientation

  ORBBEC_HD StoredImage operator[](int64_t n) const {
    const Image<const uint8_t> luma = planes[n];
    return {luma.data, luma.height, luma.width, static_cast<Sampling>(forms[2 * n])};
  }
  ORBBEC_HD int64_t orientation(int64_t n) const { return forms[2 * n + 1]; }

  // Whether image n is an upright one of this size. Tables, which may lie where the host cannot see
  // them, need not fit to each other or to the memory.
  ORBBEC_HD bool has_size(int64_t n, const StoredImage& image, int height, int width) const {
    const int64_t form = forms[2 * n], turn = orientation(n);
    if (form < 0 || form > static_cast<int64_t>(Sampling::k420)) return false;
    if (turn < 1 || turn > kLastOrientation || image.height < 1) return false;
    const uint8_t* const end = static_cast<const uint8_t*>(planes.data) + planes.numel;
    const bool turned = is_turned(turn);
    return image.bytes() <= end - image.data && height == (turned ? image.width : image.height) &&
           width == (turned ? image.height : image.width);
  }
};

}  // namespace orbbec
