// Decodes PNG with libspng. The entry points of the shared library _png.abi3.so; codecs.py calls
// them. libspng reads and checks the chunks and the rows; what it reads otherwise than Pillow is
// left to Pillow.
#include <spng.h>

#include "codec.h"

namespace orbbec {
namespace {

// The chunks that libspng drops, reads again or does not reach, of a file in the order and form of
// the specification.
class PngChunks {
 public:
  int transparencies = 0;
  size_t exif_offset = 0, exif_size = 0, compressed_bytes = 0;

  // False for a file that Pillow has rules of its own for.
  bool read(const uint8_t* data, size_t size) {
    int headers = 0, palettes = 0, exifs = 0;
    for (size_t at = kSignatureBytes; at + kFrameBytes <= size;) {
      const uint8_t* const kind = data + at + 4;
      const size_t length = be32(data + at);
      if (!is_letters(kind) || length > size - at - kFrameBytes) return false;
      headers += is(kind, "IHDR");
      palettes += is(kind, "PLTE");
      transparencies += is(kind, "tRNS");
      if (is(kind, "IDAT")) compressed_bytes += length;
      if (is(kind, "eXIf") && ++exifs == 1) {
        exif_offset = at + 8;
        exif_size = length;
      }
      at += kFrameBytes + length;
      if (is(kind, "IEND")) {
        return length == 0 && at == size && headers == 1 && palettes <= 1 && transparencies <= 1 &&
               exifs <= 1;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kSignatureBytes = 8;
  static constexpr size_t kFrameBytes = 12;  // length, kind and checksum of a chunk

  static size_t be32(const uint8_t* at) {
    return size_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3];
  }
  static bool is(const uint8_t* kind, const char (&name)[5]) {
    return std::memcmp(kind, name, 4) == 0;
  }
  static bool is_letters(const uint8_t* kind) {
    for (int i = 0; i < 4; ++i) {
      const int lower = kind[i] | 0x20;
      if (lower < 'a' || lower > 'z') return false;
    }
    return true;
  }
};

class PngFile {
 public:
  PngFile(const uint8_t* data, size_t size) : context_(spng_ctx_new(0)) {
    spng_ctx* const context = context_.get();
    is_known_ = context != nullptr && chunks_.read(data, size) &&
                spng_set_crc_action(context, SPNG_CRC_ERROR, SPNG_CRC_ERROR) == 0 &&
                spng_set_chunk_limits(context, kMaxMetadata, kMaxMetadata) == 0 &&
                spng_set_png_buffer(context, data, size) == 0 && spng_decode_chunks(context) == 0 &&
                spng_get_ihdr(context, &image_) == 0 && has_pixels() && knows_transparency();
  }

  bool is_known() const { return is_known_; }

  // Whether the transparent color is found as Pillow finds it: it compares 8 of 16 bits.
  bool knows_alpha() const { return !is_transparent_ || image_.bit_depth <= 8; }

  ImageHeader header() const {
    const int channels = is_transparent_ || has_alpha() ? 4 : is_gray() ? 1 : 3;
    return {static_cast<int32_t>(image_.height), static_cast<int32_t>(image_.width), channels,
            chunks_.exif_offset, chunks_.exif_size};
  }

  const char* decode(const Target& target) {
    if (target.channels == 4) return decode<4>(SPNG_FMT_RGBA8, target);
    if (is_gray() && image_.bit_depth <= 8) return decode<1>(SPNG_FMT_G8, target);
    return decode<3>(SPNG_FMT_RGB8, target);
  }

 private:
  static constexpr size_t kMaxMetadata = 1 << 22;  // bytes, unpacked
  static constexpr size_t kMaxCompression = 1032;  // of deflate

  bool is_gray() const { return image_.color_type == SPNG_COLOR_TYPE_GRAYSCALE; }
  bool has_alpha() const { return image_.color_type >= SPNG_COLOR_TYPE_GRAYSCALE_ALPHA; }

  // Whether the compressed bytes can be those of so many pixels.
  bool has_pixels() const {
    const int samples[] = {1, 0, 3, 1, 2, 0, 4};
    const int bits = image_.bit_depth * samples[image_.color_type];
    const uint64_t pixels = uint64_t{image_.height} * image_.width;
    return pixels / (8 * kMaxCompression / bits) <= chunks_.compressed_bytes;
  }

  // Pillow ignores transparency of pixels with alpha. libspng ignores more, such as bad sizes.
  bool knows_transparency() {
    spng_trns color;
    is_transparent_ = chunks_.transparencies > 0 && !has_alpha();
    if (!is_transparent_) return true;
    if (spng_get_trns(context_.get(), &color) != 0) return false;
    if (image_.color_type == SPNG_COLOR_TYPE_INDEXED) return true;
    const int all = is_gray() ? color.gray : color.red | color.green | color.blue;
    return all >> image_.bit_depth == 0;
  }

  // Rows of an interlaced image are complete after the last pass.
  template <int kSamples>
  const char* decode(int format, const Target& target) {
    spng_ctx* const context = context_.get();
    const size_t row_bytes = size_t{image_.width} * kSamples;
    const bool is_interlaced = image_.interlace_method != 0;
    const Scratch rows(is_interlaced ? row_bytes * image_.height : row_bytes);
    if (rows.data() == nullptr) return "out of memory";
    const int flags = SPNG_DECODE_PROGRESSIVE | SPNG_DECODE_TRNS;
    int status = spng_decode_image(context, nullptr, 0, format, flags);
    for (spng_row_info info; status == 0;) {
      status = spng_get_row_info(context, &info);
      if (status != 0) break;
      uint8_t* const row = rows.data() + (is_interlaced ? info.row_num * row_bytes : 0);
      status = spng_decode_row(context, row, row_bytes);
      if (!is_interlaced && (status == 0 || status == SPNG_EOI)) {
        write_row<kSamples>(row, static_cast<int>(info.row_num), target);
      }
    }
    if (status != SPNG_EOI) return spng_strerror(status);
    for (int y = target.top; is_interlaced && y < target.top + target.height; ++y) {
      write_row<kSamples>(rows.data() + y * row_bytes, y, target);
    }
    return nullptr;
  }

  struct Free {
    void operator()(spng_ctx* context) const { spng_ctx_free(context); }
  };

  std::unique_ptr<spng_ctx, Free> context_;
  PngChunks chunks_;
  spng_ihdr image_{};
  bool is_known_ = false, is_transparent_ = false;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Reads the header of a file. Returns kDecoded, or kOther.
int orbbec_png_header(const uint8_t* data, size_t size, ImageHeader* header) {
  const PngFile file(data, size);
  if (!file.is_known()) return kOther;
  *header = file.header();
  return kDecoded;
}

// Writes a rectangle to `out`: [height, width, channels], channels 1, 3 or 4, with strides in
// bytes. Returns kDecoded; kDamaged and a message of at most 200 bytes; or kOther, also if `shrink`
// is not 1. The signature is that of orbbec_jpeg_decode.
int orbbec_png_decode(const uint8_t* data, size_t size, int shrink, int channels, int left, int top,
                      int width, int height, uint8_t* out, ptrdiff_t row_stride,
                      ptrdiff_t pixel_stride, char* message) {
  PngFile file(data, size);
  if (shrink != 1 || !file.is_known()) return kOther;
  const Target target{left, top, width, height, channels, out, row_stride, pixel_stride};
  if (!target.is_within(file.header(), message)) return kDamaged;
  if (channels == 4 && !file.knows_alpha()) return kOther;
  const char* const failure = file.decode(target);
  if (failure == nullptr) return kDecoded;
  std::snprintf(message, kMessageBytes, "PNG: %s", failure);
  return kDamaged;
}
}
#pragma GCC visibility pop
}  // namespace orbbec
