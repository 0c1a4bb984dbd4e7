// The chunks of a PNG. Included by png.cpp.
#pragma once

#include <libdeflate.h>

#include "codec.h"

namespace orbbec {

struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// A PNG in the order and form of the specification. Files that are not are left to Pillow, which
// accepts some of them.
class PngFile {
 public:
  int64_t height = 0, width = 0;
  int bits = 0, color = 0;
  bool is_interlaced = false;
  Bytes palette, transparency, exif;

  // Reads the chunks up to the last. The checksums that are read are those that Pillow reads.
  bool read(const uint8_t* data, size_t size) {
    static constexpr uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size < 8 || std::memcmp(data, kSignature, 8) != 0) return false;
    for (size_t at = 8; at + kFrameBytes <= size;) {
      const uint8_t* const chunk = data + at;
      const uint64_t length = be32(chunk);
      if (length > size - at - kFrameBytes) return false;
      at += kFrameBytes + length;
      const uint32_t kind = be32(chunk + 4);
      if (kind == name("IEND")) return length == 0 && at == size && is_whole();
      if (!take(kind, chunk, length)) return false;
    }
    return false;
  }

  int samples() const { return color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1; }
  int channels() const {
    return transparency.data != nullptr || color >= 4 ? 4 : color == 0 ? 1 : 3;
  }
  bool has_one_piece() const { return first_ == last_; }
  size_t compressed_bytes() const { return compressed_bytes_; }
  // The compressed pixels of the first IDAT.
  const uint8_t* first_piece() const { return first_ + 8; }

  // Copies the compressed pixels of all IDAT, which follow each other.
  void gather(uint8_t* to) const {
    for (const uint8_t* chunk = first_; chunk <= last_; chunk += be32(chunk) + kFrameBytes) {
      std::memcpy(to, chunk + 8, be32(chunk));
      to += be32(chunk);
    }
  }

 private:
  static constexpr size_t kFrameBytes = 12;         // length, kind and checksum of a chunk
  static constexpr int64_t kMaxCompression = 1032;  // of deflate

  static uint32_t be32(const uint8_t* at) {
    return uint32_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3];
  }
  static constexpr uint32_t name(const char (&kind)[5]) {
    return uint32_t(kind[0]) << 24 | kind[1] << 16 | kind[2] << 8 | kind[3];
  }
  static bool is_letters(const uint8_t* kind) {
    for (int i = 0; i < 4; ++i) {
      const int lower = kind[i] | 0x20;
      if (lower < 'a' || lower > 'z') return false;
    }
    return true;
  }
  // Checks the checksum of a chunk whose content is read, and notes the content, once.
  static bool note(const uint8_t* chunk, size_t length, Bytes& content) {
    if (content.data != nullptr) return false;
    content = {chunk + 8, length};
    return libdeflate_crc32(0, chunk + 4, length + 4) == be32(chunk + 8 + length);
  }

  bool take(uint32_t kind, const uint8_t* chunk, size_t length) {
    const bool is_before_pixels = header_.data != nullptr && first_ == nullptr;
    if (kind == name("IHDR")) return note(chunk, length, header_) && read_header();
    if (kind == name("PLTE")) return is_before_pixels && note(chunk, length, palette);
    if (kind == name("tRNS")) return is_before_pixels && note(chunk, length, transparency);
    if (kind == name("IDAT")) return take_pixels(chunk, length);
    if (!is_letters(chunk + 4) || (chunk[4] & 0x20) == 0 || header_.data == nullptr) return false;
    if (kind != name("eXIf")) return true;
    if (exif.data != nullptr) return false;
    exif = {chunk + 8, length};  // its checksum is not read
    return true;
  }

  bool take_pixels(const uint8_t* chunk, size_t length) {
    const bool follows = last_ == nullptr || last_ + be32(last_) + kFrameBytes == chunk;
    if (header_.data == nullptr || !follows) return false;
    if (first_ == nullptr) first_ = chunk;
    last_ = chunk;
    compressed_bytes_ += length;
    return true;
  }

  bool read_header() {
    if (header_.size != 13) return false;
    const uint8_t* const fields = header_.data;
    width = be32(fields);
    height = be32(fields + 4);
    bits = fields[8];
    color = fields[9];
    is_interlaced = fields[12] == 1;
    const bool is_small = bits == 1 || bits == 2 || bits == 4;
    const bool is_known =
        color == 0   ? is_small || bits == 8 || bits == 16
        : color == 3 ? is_small || bits == 8
                     : (color == 2 || color == 4 || color == 6) && (bits == 8 || bits == 16);
    return is_known && width >= 1 && height >= 1 && width <= INT32_MAX && height <= INT32_MAX &&
           fields[10] == 0 && fields[11] == 0 && fields[12] <= 1;
  }

  // Whether all chunks are there and match each other.
  bool is_whole() {
    const int64_t pixels_of_byte = 8 * kMaxCompression / (bits * samples());
    if (first_ == nullptr || height > INT64_MAX / width) return false;
    if (height * width / pixels_of_byte > static_cast<int64_t>(compressed_bytes_)) return false;
    if (color == 3) {
      return palette.size >= 3 && palette.size <= 768 && palette.size % 3 == 0 &&
             transparency.size <= palette.size / 3;
    }
    if (color >= 4) transparency = {};  // Pillow ignores it
    return transparency.data == nullptr || is_color_key();
  }

  // One color of 2 bytes a sample, within the range of the samples.
  bool is_color_key() const {
    if (transparency.size != 2 * static_cast<size_t>(samples())) return false;
    for (int i = 0; i < samples(); ++i) {
      if (transparency.data[2 * i] << 8 >> bits != 0) return false;
      if (bits < 8 && transparency.data[2 * i + 1] >> bits != 0) return false;
    }
    return true;
  }

  Bytes header_;
  const uint8_t *first_ = nullptr, *last_ = nullptr;  // IDAT chunks
  size_t compressed_bytes_ = 0;
};

}  // namespace orbbec
