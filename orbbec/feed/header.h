// Headers: the format of a file, the size, components and EXIF orientation of a JPEG, as
// data/decode/jpeg_header.py reads them, and the orientation of other files. Included by work.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "feed.h"

namespace orbbec::feed {

struct Header {
  int height, width, components, bits, orientation;
};

struct Bytes {
  const uint8_t* data;
  size_t size;

  bool has(size_t offset, size_t count) const { return offset <= size && count <= size - offset; }
  int word(size_t offset) const { return data[offset] << 8 | data[offset + 1]; }
  // Whether these bytes, of a literal without its 0, are at the offset.
  template <size_t kBytes>
  bool has(size_t offset, const char (&bytes)[kBytes]) const {
    return has(offset, kBytes - 1) && std::memcmp(data + offset, bytes, kBytes - 1) == 0;
  }
  Bytes from(size_t offset) const { return {data + offset, size - offset}; }
};

// kFormats if it is none of them.
inline Format format_of(Bytes file) {
  if (file.has(0, "\xff\xd8\xff")) return kJpeg;
  if (file.has(0, "\x89PNG\r\n\x1a\n")) return kPng;
  return file.has(8, "WEBP") ? kWebp : kFormats;
}

constexpr char kExifPrefix[] = "Exif\0\0";

// A TIFF block, in the byte order that it states.
class Tiff {
 public:
  explicit Tiff(Bytes bytes) : bytes_(bytes) {}

  // The orientation in the first directory: 1 to 8, or 0 if there is none.
  int orientation() const {
    if (!bytes_.has(0, 8)) return 0;
    is_little_ = bytes_.data[0] == 'I';
    if (bytes_.data[0] != bytes_.data[1] || (!is_little_ && bytes_.data[0] != 'M')) return 0;
    const size_t directory = number(4, 4);
    if (number(2, 2) != kVersion || !bytes_.has(directory, 2)) return 0;
    const size_t count = number(directory, 2);
    for (size_t i = 0; i < count; ++i) {
      const size_t entry = directory + 2 + i * kEntryBytes;
      if (!bytes_.has(entry, kEntryBytes)) return 0;
      if (number(entry, 2) != kOrientation) continue;
      const size_t value = number(entry + kValueAt, 2);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 0;
  }

  // BigTIFF has another layout.
  bool is_big() const {
    return bytes_.has(0, 4) && (bytes_.data[2] == kBigVersion || bytes_.data[3] == kBigVersion);
  }

 private:
  static constexpr size_t kVersion = 42, kBigVersion = 43, kEntryBytes = 12, kValueAt = 8,
                          kOrientation = 0x0112;

  size_t number(size_t offset, int bytes) const {
    size_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value = value << 8 | bytes_.data[offset + (is_little_ ? bytes - 1 - i : i)];
    }
    return value;
  }

  const Bytes bytes_;
  mutable bool is_little_ = false;
};

constexpr int kStartOfScan = 0xda, kExif = 0xe1;  // markers

inline bool is_alone(int marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

inline bool is_frame(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

inline bool read_segment(int marker, Bytes body, Header& header) {
  if (is_frame(marker)) {
    if (body.size < 6 || header.components != 0) return false;
    header.bits = body.data[0];
    header.height = body.word(1);
    header.width = body.word(3);
    header.components = body.data[5];
  }
  if (marker == kExif && body.has(0, kExifPrefix)) {
    const Tiff tiff(body.from(sizeof kExifPrefix - 1));
    if (tiff.is_big()) return false;
    if (header.orientation == 0) header.orientation = tiff.orientation();
  }
  return true;
}

// Reads the segments of a JPEG up to its first scan. False for whatever is not an ordinary JPEG.
inline bool read_segments(Bytes file, Header& header) {
  header = {};
  for (size_t offset = 2; file.has(offset, 4) && file.data[offset] == 0xff;) {
    const int marker = file.data[offset + 1];
    if (marker == kStartOfScan) {
      header.orientation = std::max(header.orientation, 1);
      return header.height > 0 && header.width > 0;
    }
    if (marker == 0xff || is_alone(marker)) {
      offset += marker == 0xff ? 1 : 2;
      continue;
    }
    const size_t length = static_cast<size_t>(file.word(offset + 2));
    if (length < 2 || !file.has(offset + 2, length)) return false;
    if (!read_segment(marker, {file.data + offset + 4, length - 2}, header)) return false;
    offset += 2 + length;
  }
  return false;
}

// Reads the header of a file that a codec knows; false for one that is left to the caller.
inline bool read_by(const Functions::Codec& codec, Bytes file, Header& header) {
  ImageHeader image;
  if (codec.header == nullptr || codec.header(file.data, file.size, &image) != 0) return false;
  Bytes exif{file.data + image.exif_offset, image.exif_size};
  if (exif.has(0, kExifPrefix)) exif = exif.from(sizeof kExifPrefix - 1);
  const Tiff tiff(exif);
  header = {image.height, image.width, image.channels, 8, std::max(tiff.orientation(), 1)};
  return !tiff.is_big();
}

// Whether a JPEG has its end marker; a truncated file has none.
inline bool ends_whole(Bytes file) {
  size_t end = file.size;
  while (end > 0 && file.data[end - 1] == 0) --end;
  return end >= 2 && file.data[end - 2] == 0xff && file.data[end - 1] == 0xd9;
}

}  // namespace orbbec::feed
