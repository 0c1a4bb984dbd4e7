// Decoding a rectangle or the planes of a JPEG: types shared by the decoder's files. Included by
// decode_strips.h and decode_cpu.cpp.
#pragma once

#include "codes.h"

namespace orbbec {

struct Rectangle {
  int left, top, width, height;
};

// Where pixels are written: the first, and the strides in bytes between rows and pixels.
struct Output {
  uint8_t* first;
  ptrdiff_t row_stride, pixel_stride;
};

// The Huffman tables of luma and chroma.
struct DecodeTables {
  DcTable dc[2];
  AcTable ac[2];
  SkipTable skip[2];
};

// The start of a row of MCUs in the scan: the bit, stuffed zeros included, and the DC coefficients
// of the blocks before it.
struct RowStart {
  uint32_t bit;
  int16_t dc[kMaxComponents];
};

// Those of the first rows, in memory for one more than there are: that entry says that the scan
// ends as it should. The decoder appends the rows that it gets to.
struct RowStarts {
  RowStart* rows;
  int count;  // at least 1
};

struct DecodeArguments {
  const Frame& frame;
  const DecodeTables& tables;
  const uint8_t* end;  // of the file
  Rectangle region;
  int channels;
  Output output;
  uint8_t* planes;    // destination of the planes, one after the other, instead of pixels; or null
  RowStarts* starts;  // or null
};

}  // namespace orbbec
