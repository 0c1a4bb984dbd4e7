// Decodes PNG with libdeflate. The entry points of the shared library _png.abi3.so; codecs.py calls
// them. A file is decompressed in one piece, its rows are unfiltered in place, and the pixels of a
// rectangle are written in the order of the stored image.
#include "png_file.h"
#include "png_rows.h"

namespace orbbec {
namespace {

// A pass of an interlaced image has every `step`-th row and column, from the first on.
struct Pass {
  int top, left, row_step, column_step;

  int64_t rows(int64_t height) const { return (height - top + row_step - 1) / row_step; }
  int64_t columns(int64_t width) const { return (width - left + column_step - 1) / column_step; }
};

constexpr Pass kWhole[] = {{0, 0, 1, 1}};
constexpr Pass kInterlaced[] = {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
                                {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};

class PngDecoder {
 public:
  explicit PngDecoder(const PngFile& file)
      : file_(file),
        pixel_bits_(file.bits * file.samples()),
        unfilter_(unfilter_of(pixel_bits_)),
        row_bytes_(bytes_of(file.width)) {
    for (const Pass* pass = begin(); pass != end(); ++pass) {
      const int64_t columns = pass->columns(file.width);
      if (columns > 0) raw_bytes_ += pass->rows(file.height) * (1 + bytes_of(columns));
    }
    make_colors();
  }

  // Whether the transparent color is found as Pillow finds it: it compares 8 of 16 bits.
  bool knows_alpha() const { return file_.transparency.data == nullptr || file_.bits <= 8; }

  const char* decode(const Target& target) {
    // The rows with their filters, a row of zeros, and the pieces of the compressed rows.
    const size_t zero_bytes = row_bytes_ + kPadding;
    const size_t gathered_bytes = file_.has_one_piece() ? 0 : file_.compressed_bytes();
    const Scratch scratch(raw_bytes_ + zero_bytes + gathered_bytes);
    uint8_t* row = scratch.data();
    if (row == nullptr) return "out of memory";
    uint8_t* const zeros = row + raw_bytes_;
    if (!decompress(row, zeros + zero_bytes)) return "the compressed pixels are damaged";
    std::memset(zeros, 0, zero_bytes);
    for (const Pass* pass = begin(); pass != end(); ++pass) {
      if (pass->columns(file_.width) <= 0) continue;
      row = decode_pass(*pass, row, zeros, target);
      if (row == nullptr) return "a row has an unknown filter";
    }
    return nullptr;
  }

 private:
  const Pass* begin() const { return file_.is_interlaced ? kInterlaced : kWhole; }
  const Pass* end() const { return begin() + (file_.is_interlaced ? 7 : 1); }
  size_t bytes_of(int64_t columns) const { return (columns * pixel_bits_ + 7) / 8; }

  void make_colors() {
    const Bytes& alpha = file_.transparency;
    if (file_.color == 3) {
      for (int i = 0; i < 256; ++i) colors_[i] = {0, 0, 0, 255};  // Pillow's, beyond the palette
      for (size_t i = 0; i < file_.palette.size / 3; ++i) {
        std::memcpy(&colors_[i], file_.palette.data + 3 * i, 3);
        if (i < alpha.size) colors_[i].alpha = alpha.data[i];
      }
      return;
    }
    const int count = file_.bits < 8 ? 1 << file_.bits : 256;
    for (int i = 0; i < count; ++i) {
      const uint8_t gray = static_cast<uint8_t>(i * (255 / (count - 1)));
      const bool is_key = alpha.size == 2 && alpha.data[1] == i;
      colors_[i] = {gray, gray, gray, static_cast<uint8_t>(is_key ? 0 : 255)};
    }
    if (alpha.size == 6) key_ = {alpha.data[1], alpha.data[3], alpha.data[5], 0};
  }

  bool decompress(uint8_t* raw, uint8_t* gathered) const {
    const uint8_t* compressed = file_.first_piece();
    if (!file_.has_one_piece()) {
      file_.gather(gathered);
      compressed = gathered;
    }
    libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
    if (decompressor == nullptr) return false;
    const libdeflate_result result = libdeflate_zlib_decompress(
        decompressor, compressed, file_.compressed_bytes(), raw, raw_bytes_, nullptr);
    libdeflate_free_decompressor(decompressor);
    return result == LIBDEFLATE_SUCCESS;
  }

  // Returns the row after the pass, or null if a filter is unknown.
  uint8_t* decode_pass(const Pass& pass, uint8_t* row, const uint8_t* above, const Target& target) {
    const int64_t rows = pass.rows(file_.height);
    const size_t bytes = bytes_of(pass.columns(file_.width));
    for (int64_t i = 0; i < rows; ++i, row += 1 + bytes) {
      const int64_t y = pass.top + i * pass.row_step;
      if (row[0] > 4) return nullptr;
      if (y >= target.top + int64_t{target.height}) continue;
      unfilter_(row[0], row + 1, above, bytes);
      above = row + 1;
      if (y >= target.top) write_row(pass, above, static_cast<int>(y), target);
    }
    return row;
  }

  void write_row(const Pass& pass, const uint8_t* row, int y, const Target& target) {
    const int64_t first = first_column(pass, target.left);
    const int64_t count = first_column(pass, target.left + int64_t{target.width}) - first;
    if (count <= 0) return;
    uint8_t* const out = target.at(y, static_cast<int>(pass.left + first * pass.column_step));
    const ptrdiff_t stride = target.pixel_stride * pass.column_step;
    const bool is_as_stored = file_.bits == 8 && file_.color != 3 && key() == nullptr &&
                              file_.samples() == target.channels && stride == target.channels;
    if (is_as_stored) {
      std::memcpy(out, row + first * target.channels, count * target.channels);
      return;
    }
    with_samples(file_.color, file_.bits, colors_, key(), [&](const auto& samples) {
      if (target.channels == 1) write_pixels<1>(samples, row, first, count, out, stride);
      if (target.channels == 3) write_pixels<3>(samples, row, first, count, out, stride);
      if (target.channels == 4) write_pixels<4>(samples, row, first, count, out, stride);
    });
  }

  // The first column of a pass that is not left of a column of the image.
  static int64_t first_column(const Pass& pass, int64_t column) {
    return column <= pass.left ? 0 : pass.columns(column);
  }

  const Rgba* key() const { return file_.transparency.size == 6 ? &key_ : nullptr; }

  const PngFile& file_;
  const int pixel_bits_;
  Unfilter* const unfilter_;
  const size_t row_bytes_;
  size_t raw_bytes_ = 0;
  Rgba colors_[256] = {}, key_ = {};
};

ImageHeader header_of(const PngFile& file, const uint8_t* data) {
  const size_t exif_offset = file.exif.size == 0 ? 0 : file.exif.data - data;
  return {static_cast<int32_t>(file.height), static_cast<int32_t>(file.width), file.channels(),
          exif_offset, file.exif.size};
}

}  // namespace

extern "C" {

// Reads the header of a file. Returns kDecoded, or kOther.
__attribute__((visibility("default"))) int orbbec_png_header(const uint8_t* data, size_t size,
                                                             ImageHeader* header) {
  PngFile file;
  if (!file.read(data, size)) return kOther;
  *header = header_of(file, data);
  return kDecoded;
}

// Writes a rectangle to `out`: [height, width, channels], channels 1, 3 or 4, with strides in
// bytes. Returns kDecoded; kDamaged and a message of at most 200 bytes; or kOther, also if `shrink`
// is not 1. The signature is that of orbbec_jpeg_decode.
__attribute__((visibility("default"))) int orbbec_png_decode(
    const uint8_t* data, size_t size, int shrink, int channels, int left, int top, int width,
    int height, uint8_t* out, ptrdiff_t row_stride, ptrdiff_t pixel_stride, char* message) {
  PngFile file;
  if (shrink != 1 || !file.read(data, size)) return kOther;
  const Target target{left, top, width, height, channels, out, row_stride, pixel_stride};
  if (!target.is_within(header_of(file, data), message)) return kDamaged;
  PngDecoder decoder(file);
  if (channels == 4 && !decoder.knows_alpha()) return kOther;
  const char* const failure = decoder.decode(target);
  if (failure == nullptr) return kDecoded;
  std::snprintf(message, kMessageBytes, "PNG: %s", failure);
  return kDamaged;
}
}
}  // namespace orbbec
