// Images stored as JPEG planes: luma and chroma, with full or subsampled chroma, before the EXIF
// orientation is applied. Included by color/ycbcr/ and augment/.
#pragma once

#include "image.h"
#include "ycc.h"

namespace orbbec {

// The planes of an image: interleaved RGB; luma alone; or luma, Cb and Cr, chroma full or
// halved along the columns, the rows or both. The numbers match SAMPLINGS in batch/ycbcr_batch.py
// and data/decode/jpeg_planes.cpp.
enum class Subsampling : int64_t { kRgb, kGray, k444, k422, k440, k420 };

struct StoredImage {
  const uint8_t* data;
  int height, width;
  Subsampling subsampling;
  // What follows from these, for each read of a pixel.
  int halves_rows, halves_columns;  // not bool, so that no copy in shared memory has padding
  int chroma_height, chroma_width;
  const uint8_t* chroma_data[2];  // Cb, Cr

  StoredImage() = default;

  ORBBEC_HD StoredImage(const uint8_t* data, int height, int width, Subsampling subsampling)
      : data(data),
        height(height),
        width(width),
        subsampling(subsampling),
        halves_rows(subsampling == Subsampling::k440 || subsampling == Subsampling::k420),
        halves_columns(subsampling == Subsampling::k422 || subsampling == Subsampling::k420),
        chroma_height(halves_rows ? height / 2 + height % 2 : height),
        chroma_width(halves_columns ? width / 2 + width % 2 : width) {
    chroma_data[0] = data + int64_t{height} * width;
    chroma_data[1] = chroma_data[0] + int64_t{chroma_height} * chroma_width;
  }

  ORBBEC_HD int64_t bytes() const {
    const int64_t pixels = int64_t{height} * width;
    if (subsampling == Subsampling::kRgb) return 3 * pixels;
    if (subsampling == Subsampling::kGray) return pixels;
    return pixels + 2 * int64_t{chroma_height} * chroma_width;
  }

  ORBBEC_HD const uint8_t* luma_row(int y) const { return data + int64_t{y} * width; }

  // A row of Cb, plane 0, or Cr, plane 1.
  ORBBEC_HD const uint8_t* chroma_row(int plane, int y) const {
    return chroma_data[plane] + int64_t{y} * chroma_width;
  }

  // libjpeg does not blend horizontally halved chroma of 2 or fewer columns, nor its rows.
  ORBBEC_HD bool is_blended() const { return !halves_columns || chroma_width > 2; }

  // The other row or column of chroma, of `size`, that is blended with p / 2 for pixel `p`.
  ORBBEC_HD int other(int p, int size) const { return is_blended() ? next_to(p, size) : p / 2; }
  ORBBEC_HD static int next_to(int p, int size) {
    const int nearer = p / 2, next = p % 2 == 0 ? nearer - 1 : nearer + 1;
    return next < 0 || next >= size ? nearer : next;
  }

  // A chroma value at a pixel: up to four reads.
  ORBBEC_HD int chroma(int plane, int y, int x) const {
    const int row = halves_rows ? y / 2 : y, column = halves_columns ? x / 2 : x;
    const uint8_t* const near = chroma_row(plane, row);
    if (!halves_rows && !halves_columns) return near[column];
    const int far_column = halves_columns ? other(x, chroma_width) : column;
    if (!halves_rows) return blend_pair(near[column], near[far_column], x);
    const uint8_t* const far = chroma_row(plane, other(y, chroma_height));
    if (!halves_columns) return blend_pair(near[column], far[column], y);
    return blend_columns(blend_rows(near[column], far[column]),
                         blend_rows(near[far_column], far[far_column]), x);
  }

  ORBBEC_HD Color<int> color(int y, int x) const {
    if (subsampling == Subsampling::kRgb) {
      const uint8_t* const pixel = data + (int64_t{y} * width + x) * 3;
      return {pixel[0], pixel[1], pixel[2]};
    }
    const int luma = luma_row(y)[x];
    if (subsampling == Subsampling::kGray) return {luma, luma, luma};
    return color_of<OneColumn, int>(luma, chroma(0, y, x), chroma(1, y, x));
  }
};

// EXIF orientations: transposed from 5 on, and mirrored along either axis.
constexpr int64_t kLastOrientation = 8;
ORBBEC_HD bool is_transposed(int64_t orientation) { return orientation >= 5; }
ORBBEC_HD bool is_flipped(int64_t orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}
ORBBEC_HD bool is_mirrored(int64_t orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

// A batch: offsets and stored sizes of the images.
struct StoredImages {
  Images<const uint8_t> planes;
  const int64_t* forms;  // [N, 2]: subsampling, orientation

  ORBBEC_HD StoredImage operator[](int64_t n) const {
    const Image<const uint8_t> luma = planes[n];
    return {luma.data, luma.height, luma.width, static_cast<Subsampling>(forms[2 * n])};
  }
  ORBBEC_HD int64_t orientation(int64_t n) const { return forms[2 * n + 1]; }

  // Whether image n has this upright size. The tables may be in device memory, where the host
  // cannot check them against each other or the buffer.
  ORBBEC_HD bool has_size(int64_t n, const StoredImage& image, int height, int width) const {
    const int64_t form = forms[2 * n], code = orientation(n);
    if (form < 0 || form > static_cast<int64_t>(Subsampling::k420)) return false;
    if (code < 1 || code > kLastOrientation || image.height < 1) return false;
    const uint8_t* const end = static_cast<const uint8_t*>(planes.data) + planes.numel;
    const bool transposed = is_transposed(code);
    return image.bytes() <= end - image.data &&
           height == (transposed ? image.width : image.height) &&
           width == (transposed ? image.height : image.width);
  }
};

}  // namespace orbbec
