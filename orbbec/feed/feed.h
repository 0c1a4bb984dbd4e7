// The feed's C interface: threads that know no Python read, check and decode the images of batches.
// Included by the files of this folder; feed.py declares the same structs for ctypes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orbbec::feed {

// The formats that are decoded.
enum Format : int32_t { kJpeg, kPng, kWebp, kFormats };

// What became of an image. Whatever is not kGood is left to the caller.
enum Status : int32_t { kPending, kGood, kUnread, kOther, kUndecoded };

// An image of a batch: its encoded file, and what the file's header says. Sizes are as stored.
struct Row {
  const uint8_t* data;
  uint64_t size;
  int32_t status, height, width, components, orientation, subsampling, format, padding;
  int64_t scan_bytes;  // most bytes of the packed scan, then its bytes; 0: it cannot be packed
  int64_t blocks;      // of 8 x 8, of a scan that can
};

constexpr int kMessageBytes = 200;  // of the decoders' messages

// What a decoder reads from a file before the pixels.
struct ImageHeader {
  int32_t height, width;            // as stored
  int32_t channels;                 // that keep all of the file: 1, 3 or 4
  uint64_t exif_offset, exif_size;  // the EXIF block; 0 bytes if there is none
};

// What jpeg_planes needs to know of a JPEG before its scan is packed.
struct ScanSize {
  int64_t most_bytes;  // of the packed scan
  int64_t blocks;
  int32_t height, width, subsampling;
};

// The decoders and the checker, in other libraries, which may be absent: the turbo_* are null
// without libjpeg-turbo, and the codecs of PNG and WebP without theirs.
struct Functions {
  using Check = int(const uint8_t* data, size_t size, int walks, char* message);
  using IsKnown = int(const uint8_t* data, size_t size);
  using ReadHeader = int(const uint8_t* data, size_t size, ImageHeader* header);
  using DecodeRegion = int(const uint8_t* data, size_t size, int shrink, int channels, int left,
                           int top, int width, int height, uint8_t* out, ptrdiff_t row_stride,
                           ptrdiff_t pixel_stride, char* message);
  using DecodePlanes = int(const uint8_t* data, size_t size, int height, int width, int subsampling,
                           uint8_t* out, char* message);
  using ReadScanSize = int(const uint8_t* data, size_t size, ScanSize* scan);
  using PackScan = int64_t(const uint8_t* data, size_t size, uint8_t* out);

  struct Codec {
    ReadHeader* header;  // of JPEG: null, since header.h reads it
    DecodeRegion* region;
  };

  Check* check;
  IsKnown* is_known;
  DecodePlanes* planes;
  IsKnown* turbo_subsampling;
  DecodeRegion* turbo_region;
  DecodePlanes* turbo_planes;
  ReadScanSize* scan_size;
  PackScan* pack_scan;
  Codec codecs[kFormats];
};

struct Settings {
  int32_t threads;     // that read and decode
  int32_t readers;     // more that only read
  int32_t nice;        // added to their niceness
  int32_t core_count;  // 0: all cores of the process
  const int32_t* cores;
};

// The files of a batch. Rows of `spans`, [count, 3], are (offset, bytes, checksum) of files, see
// files.h, or (address, bytes, -1) in memory without `paths`. Without `spans`, files are read
// whole.
struct Request {
  int32_t count;
  int32_t applies_orientation;
  int32_t channels;     // 1, 3 or 4; 0: planes; -1: files are no images, and only read
  int32_t packs_scans;  // whether rows state the sizes of scans
  int64_t max_pixels;
  const char* paths;  // one after the other, each with its end
  const int64_t* spans;
};

constexpr int kScans = -1;  // channels of an Output: packed scans where rows have them, else planes

// Where the pixels of a batch are written, and which.
struct Output {
  uint8_t* storage;
  const int64_t* offsets;  // [count], of each image in storage; -1: not decoded
  const int64_t* boxes;    // [count, 4]: left, top, right, bottom, upright and shrunk; null: whole
  const int64_t* shrinks;  // [count]: 1, 2, 4 or 8; null: 1
  int32_t channels;        // 1, 3 or 4; 0: planes; kScans
};

}  // namespace orbbec::feed
