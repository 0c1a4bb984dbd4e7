// Decodes a JPEG to its planes, before chroma upsampling and color conversion. An entry point of a
// shared library loaded by native.py, without Python or torch.
#include <algorithm>

#include "jpeg_errors.h"

namespace orbbec {
namespace {

// The subsampling of a file; the numbers match orbbec/core/stored_image.h.
enum Subsampling { kNoPlanes, kGray, k444, k422, k440, k420 };

// kNoPlanes for subsampling other than by 1 or 2, and colors other than YCbCr.
Subsampling subsampling_of(jpeg_decompress_struct& info) {
  jpeg_calc_output_dimensions(&info);
  if (info.min_DCT_h_scaled_size != DCTSIZE) return kNoPlanes;  // lossless
  if (info.jpeg_color_space == JCS_GRAYSCALE && info.num_components == 1) return kGray;
  if (info.jpeg_color_space != JCS_YCbCr || info.num_components != 3) return kNoPlanes;
  const jpeg_component_info *luma = info.comp_info, *blue = luma + 1, *red = luma + 2;
  const int max_factor_y = info.max_v_samp_factor, max_factor_x = info.max_h_samp_factor;
  if (luma->v_samp_factor != max_factor_y || luma->h_samp_factor != max_factor_x) return kNoPlanes;
  if (blue->v_samp_factor != red->v_samp_factor || blue->h_samp_factor != red->h_samp_factor) {
    return kNoPlanes;
  }
  const bool tall = blue->v_samp_factor == max_factor_y, wide = blue->h_samp_factor == max_factor_x;
  if (!tall && 2 * blue->v_samp_factor != max_factor_y) return kNoPlanes;
  if (!wide && 2 * blue->h_samp_factor != max_factor_x) return kNoPlanes;
  return tall ? (wide ? k444 : k422) : (wide ? k440 : k420);
}

// An output component: libjpeg writes whole blocks, of which the plane keeps only part.
struct Component {
  int height, width;
  size_t stride;  // of rows of whole blocks
  int rows;       // per row of MCUs
  uint8_t* out;
};

constexpr int kMaxComponents = 3, kMaxRows = MAX_SAMP_FACTOR * DCTSIZE;

size_t describe(const jpeg_decompress_struct& info, uint8_t* out,
                Component (&planes)[kMaxComponents]) {
  size_t bytes = 0;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& of = info.comp_info[c];
    planes[c] = {static_cast<int>(of.downsampled_height), static_cast<int>(of.downsampled_width),
                 size_t{of.width_in_blocks} * DCTSIZE, of.v_samp_factor * DCTSIZE, out};
    out += static_cast<size_t>(planes[c].height) * planes[c].width;
    bytes += planes[c].rows * planes[c].stride;
  }
  return bytes;
}

void read_planes(jpeg_decompress_struct& info, const Component (&planes)[kMaxComponents],
                 uint8_t* rows) {
  JSAMPROW pointers[kMaxComponents][kMaxRows];
  JSAMPARRAY components[kMaxComponents];
  for (int c = 0; c < info.num_components; ++c) {
    components[c] = pointers[c];
    for (int y = 0; y < planes[c].rows; ++y, rows += planes[c].stride) pointers[c][y] = rows;
  }
  const JDIMENSION lines = info.max_v_samp_factor * DCTSIZE;
  for (int batch = 0; info.output_scanline < info.output_height; ++batch) {
    jpeg_read_raw_data(&info, components, lines);
    for (int c = 0; c < info.num_components; ++c) {
      const Component& plane = planes[c];
      const int first = batch * plane.rows;
      const int last = std::min(first + plane.rows, plane.height);
      for (int y = first; y < last; ++y) {
        std::memcpy(plane.out + static_cast<size_t>(y) * plane.width, pointers[c][y - first],
                    static_cast<size_t>(plane.width));
      }
    }
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Returns the subsampling of a file; 0 also for an unreadable file.
int orbbec_jpeg_sampling(const uint8_t* data, size_t size) {
  char message[JMSG_LENGTH_MAX];
  Subsampling subsampling = kNoPlanes;
  read_file(data, size, message, [&](jpeg_decompress_struct& info, uint8_t* volatile&) {
    subsampling = subsampling_of(info);
    return 0;
  });
  return subsampling;
}

// Writes the planes of a file of `height` x `width` pixels and a subsampling other than 0 to `out`,
// one after the other; halved chroma sizes are rounded up. Returns 0, or 1 and a message of at most
// 200 bytes in `message`.
int orbbec_jpeg_planes(const uint8_t* data, size_t size, int height, int width, int subsampling,
                       uint8_t* out, char* message) {
  return read_file(data, size, message, [&](jpeg_decompress_struct& info, uint8_t* volatile& rows) {
    const int found = subsampling_of(info);
    const int found_height = static_cast<int>(info.image_height);
    const int found_width = static_cast<int>(info.image_width);
    if (found == kNoPlanes || found != subsampling || found_height != height ||
        found_width != width) {
      std::snprintf(message, 200, "subsampling %d of %dx%d pixels, where %d of %dx%d was expected",
                    found, found_height, found_width, subsampling, height, width);
      return 1;
    }
    info.raw_data_out = TRUE;
    start(info);
    Component planes[kMaxComponents];
    rows = static_cast<uint8_t*>(std::malloc(describe(info, out, planes)));
    if (rows == nullptr) ERREXIT1(&info, JERR_OUT_OF_MEMORY, 0);
    read_planes(info, planes, rows);
    jpeg_finish_decompress(&info);
    return 0;
  });
}
}
#pragma GCC visibility pop
}  // namespace orbbec
