// Decoding a rectangle or the planes of a JPEG: what its parts share. Included by decode_strips.h
// and decode_cpu.cpp.
#pragma once

#include "codes.h"

namespace orbbec {

struct Rectangle {
  int left, top, width, height;
};

// Where pixels are written: the first, and bytes from each to that below it and that right of it.
struct Output {
  uint8_t* first;
  ptrdiff_t down, across;
};

// Those of luma and of chroma.
struct DecodeTables {
  DcTable dc[2];
  AcTable ac[2];
  SkipTable skip[2];
};

struct DecodeArguments {
  const Frame& frame;
  const DecodeTables& tables;
  const uint8_t* end;  // of the file
  Rectangle part;
  int channels;
  Output output;
  uint8_t* planes;  // where they are written, one after the other, instead of pixels; or null
};

}  // namespace orbbec
