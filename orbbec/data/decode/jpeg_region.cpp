// Decodes a rectangle of a JPEG with libjpeg-turbo. An entry point of a shared library loaded by
// native.py, without Python or torch. Blocks left and right of the rectangle are not transformed;
// rows below it are not read.
#include <algorithm>

#include "jpeg_errors.h"

namespace orbbec {
namespace {

constexpr int kRows = 16;  // per call
// Fancy upsampling reads one sample next to a pixel's own; a sample is two pixels wide.
constexpr int kMargin = 2;

struct Rectangle {
  int left, top, width, height;
};

// Where pixels are written: the first, and the strides in bytes between rows and pixels. The
// strides encode the EXIF orientation and may be negative.
struct Output {
  uint8_t* first;
  ptrdiff_t row_stride, pixel_stride;
};

template <int kChannels>
void write_row(const uint8_t* row, int width, uint8_t* out, ptrdiff_t pixel_stride) {
  if (pixel_stride == kChannels) {
    std::memcpy(out, row, static_cast<size_t>(width) * kChannels);
    return;
  }
  for (int x = 0; x < width; ++x, row += kChannels, out += pixel_stride)
    std::memcpy(out, row, kChannels);
}

void read_rectangle(jpeg_decompress_struct& info, Rectangle rectangle, const Output& out,
                    uint8_t* rows) {
  JDIMENSION begin = static_cast<JDIMENSION>(std::max(0, rectangle.left - kMargin));
  const int end =
      std::min(rectangle.left + rectangle.width + kMargin, static_cast<int>(info.output_width));
  JDIMENSION columns = static_cast<JDIMENSION>(end) - begin;
  if (columns < info.output_width) jpeg_crop_scanline(&info, &begin, &columns);
  const size_t stride = static_cast<size_t>(info.output_width) * info.out_color_components;
  const size_t skipped = (rectangle.left - begin) * info.out_color_components;
  if (rectangle.top > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(rectangle.top));
  const auto write = info.out_color_components == 3 ? write_row<3> : write_row<1>;
  JSAMPROW pointers[kRows];
  for (int i = 0; i < kRows; ++i) pointers[i] = rows + i * stride;
  for (int done = 0; done < rectangle.height;) {
    const int most = std::min(rectangle.height - done, kRows);
    const int got = static_cast<int>(jpeg_read_scanlines(&info, pointers, most));
    for (int i = 0; i < got; ++i, ++done) {
      write(pointers[i] + skipped, rectangle.width, out.first + done * out.row_stride,
            out.pixel_stride);
    }
  }
}

}  // namespace

extern "C" {

// Writes the rectangle, in pixels of the image scaled by 1 / shrink (1, 2, 4 or 8), to `out`:
// [height, width, channels], channels 1 or 3, with strides in bytes. Returns 0, or 1 and a message
// of at most 200 bytes in `message`.
__attribute__((visibility("default"))) int orbbec_jpeg_region(
    const uint8_t* data, size_t size, int shrink, int channels, int left, int top, int width,
    int height, uint8_t* out, ptrdiff_t row_stride, ptrdiff_t pixel_stride, char* message) {
  return read_file(data, size, message, [&](jpeg_decompress_struct& info, uint8_t* volatile& rows) {
    info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(shrink);
    start(info);
    const int64_t columns = info.output_width, lines = info.output_height;
    if (left < 0 || top < 0 || width < 1 || height < 1 || left + int64_t{width} > columns ||
        top + int64_t{height} > lines || info.out_color_components != channels) {
      std::snprintf(message, 200, "rectangle %d, %d, %dx%d of an image of %dx%d", left, top, height,
                    width, static_cast<int>(lines), static_cast<int>(columns));
      return 1;
    }
    rows = static_cast<uint8_t*>(std::malloc(static_cast<size_t>(columns) * channels * kRows));
    if (rows == nullptr) ERREXIT1(&info, JERR_OUT_OF_MEMORY, 0);
    read_rectangle(info, Rectangle{left, top, width, height}, Output{out, row_stride, pixel_stride},
                   rows);
    if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
    return 0;  // unread rows are dropped
  });
}
}
}  // namespace orbbec
