// The work on one image: reading it with its header, then decoding it. Included by batch.h.
#pragma once

#include "feed.h"
#include "files.h"
#include "header.h"
#include "orientation.h"

namespace orbbec::feed {

// What makes a file an ordinary one.
struct Limits {
  bool applies_orientation;
  int channels;  // 0: planes
  int64_t max_pixels;
  bool packs_scans;
};

// The subsampling of an image whose planes are no YCbCr; as in core/stored_image.h.
constexpr int kRgb = 0;

// Reads the header of a JPEG. False unless data/decode/decode.py's region_header accepts it.
inline bool read_jpeg(const Functions& functions, int channels, Bytes file, Header& header) {
  const auto is_decoded = [&] {
    return functions.turbo_region != nullptr ||
           (channels != 0 && functions.is_known(file.data, file.size) != 0);
  };
  if (channels == 4 || !is_decoded()) return false;
  if (!read_segments(file, header) || header.bits != 8) return false;
  if ((header.components != 1 && header.components != 3) || !ends_whole(file)) return false;
  char message[kMessageBytes];
  return functions.check(file.data, file.size, 0, message) == 0;
}

// Fills in the size of the scan that jpeg_planes decodes to the planes of the row.
inline void read_scan_size(const Functions& functions, Row& row) {
  ScanSize size;
  if (functions.scan_size(row.data, row.size, &size) == 0) return;
  if (size.height != row.height || size.width != row.width || size.subsampling != row.subsampling)
    return;
  row.scan_bytes = size.most_bytes;
  row.blocks = size.blocks;
}

// Fills the row of a file in memory. Everything that could be an error is left to Python.
inline Status examine(const Functions& functions, const Limits& limits, Row& row) {
  const Bytes file{row.data, row.size};
  const Format format = format_of(file);
  Header header;
  if (format == kFormats) return kOther;
  const bool is_good = format == kJpeg ? read_jpeg(functions, limits.channels, file, header)
                                       : read_by(functions.codecs[format], file, header);
  if (!is_good || int64_t{header.height} * header.width > limits.max_pixels) return kOther;
  row.format = format;
  row.height = header.height;
  row.width = header.width;
  row.components = header.components;
  row.orientation = limits.applies_orientation ? header.orientation : 1;
  row.subsampling = kRgb;
  if (limits.channels == 0 && format == kJpeg) {
    row.subsampling = functions.turbo_subsampling(file.data, file.size);
    if (limits.packs_scans) read_scan_size(functions, row);
  }
  return kGood;
}

// Where an image of a batch goes, and which part of it.
struct Target {
  uint8_t* out;
  const int64_t* box;  // null: the whole image
  int shrink, channels;
};

inline bool decode_pixels(const Functions& functions, const Row& row, const Target& target) {
  const int64_t height = (int64_t{row.height} + target.shrink - 1) / target.shrink;
  const int64_t width = (int64_t{row.width} + target.shrink - 1) / target.shrink;
  const bool swaps = swaps_axes(row.orientation);
  const Box whole{0, 0, swaps ? height : width, swaps ? width : height};
  const int64_t* const b = target.box;
  const Box box = b == nullptr ? whole : Box{b[0], b[1], b[2], b[3]};
  const Box stored = stored_box(box, height, width, row.orientation);
  const StoredPixels out = stored_pixels(target.out, box, target.channels, row.orientation);
  char message[kMessageBytes];
  const auto decode = [&](Functions::DecodeRegion* by) {
    return by(row.data, row.size, target.shrink, target.channels, static_cast<int>(stored.left),
              static_cast<int>(stored.top), stored.width(), stored.height(), out.first,
              out.row_stride, out.pixel_stride, message) == 0;
  };
  if (decode(functions.codecs[row.format].region)) return true;
  return row.format == kJpeg && functions.turbo_region != nullptr && decode(functions.turbo_region);
}

inline bool decode_planes(const Functions& functions, const Row& row, uint8_t* out) {
  char message[kMessageBytes];
  const auto decode = [&](Functions::DecodePlanes* by) {
    return by(row.data, row.size, row.height, row.width, row.subsampling, out, message) == 0;
  };
  return decode(functions.planes) || decode(functions.turbo_planes);
}

inline Status decode(const Functions& functions, const Row& row, Target target) {
  const bool is_planes = target.channels == 0 && row.subsampling != kRgb;
  if (target.channels == 0) target.channels = 3;
  const bool is_done =
      is_planes ? decode_planes(functions, row, target.out) : decode_pixels(functions, row, target);
  return is_done ? kGood : kUndecoded;
}

}  // namespace orbbec::feed
