// jpeg_compression: the effect of encoding and decoding with libjpeg, without entropy coding.
// Integer arithmetic, identical on every device. Included by jpeg_strips.h, jpeg_cuda.cu and
// binding.cpp.
//
// Source: ITU-T T.81, annexes A and K; ITU-T T.871 (the colors); libjpeg's documentation (quality,
// fancy upsampling).
#pragma once

#include "../core/image.h"
#include "../core/scalar.h"
#include "../core/stored_image.h"
#include "dct.h"

namespace orbbec {

constexpr int kCells = kBlockSide * kBlockSide;

// The quantization tables of T.81, K.1, in row order; passed in kernel arguments, which threads can
// index.
struct StandardTables {
  uint8_t steps[2][kCells] = {
      {16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
       14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
       18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
       49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99},
      {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99,
       99, 99, 47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
       99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};
};

struct JpegArguments {
  Images<const uint8_t> source;
  Images<uint8_t> output;
  const int64_t* qualities;  // [N] on the device of the images, or null
  int64_t quality;           // of all images
  Subsampling subsampling;
  uint8_t* chroma;  // of 4:2:0: two planes per image, half as high and wide, decoded
  StandardTables tables;

  ORBBEC_HD int quality_of(int64_t n) const {
    const int64_t value = qualities != nullptr ? qualities[n] : quality;
    return value < 1 ? 1 : value > 100 ? 100 : static_cast<int>(value);
  }

  // Step `cell` of table 0 (luma) or 1 (chroma), scaled like libjpeg, from 1 to 255.
  ORBBEC_HD int step(int table, int cell, int quality) const {
    const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    return clamp_int((tables.steps[table][cell] * percent + 50) / 100, 1, 255);
  }
};

// A step, and the reciprocal of the step times the transform's scale.
struct Quantizer {
  float reciprocal[kCells];
  int step[kCells];

  ORBBEC_HD void set(int cell, int value) {
    step[cell] = value;
    reciprocal[cell] = 1.0f / static_cast<float>(kBlockSide * value);
  }
};

// |value| / (8 step), rounded half up, times step. Adding the half to the numerator keeps the
// quotient 1 / (16 step) away from every integer, more than a float's error.
template <class Columns, class V, class F>
ORBBEC_HD V quantized(const V& value, const V& step, const F& reciprocal) {
  const V sign = value >> 31, magnitude = (value ^ sign) - sign;
  const V numerator = magnitude + step * (kBlockSide / 2);
  const V level = Columns::truncate((Columns::to_float(numerator) + 0.5f) * reciprocal);
  return ((level ^ sign) - sign) * step;
}

// Encodes and decodes a block: v[y] of column x on entry and return, 0 to 255. `transpose`
// exchanges rows and columns; `quantize(k, v)` knows the column.
template <class Columns, class Transpose, class Quantize, class V = typename Columns::V>
ORBBEC_HD void code_block(V (&v)[kBlockSide], const Transpose& transpose,
                          const Quantize& quantize) {
  for (int k = 0; k < kBlockSide; ++k) v[k] = v[k] - 128;
  transpose(v);
  forward_pass<Columns, true>(v);
  transpose(v);
  forward_pass<Columns, false>(v);
  for (int k = 0; k < kBlockSide; ++k) v[k] = quantize(k, v[k]);
  inverse_pass<Columns, true>(v);
  transpose(v);
  inverse_pass<Columns, false>(v);
  transpose(v);
  for (int k = 0; k < kBlockSide; ++k) v[k] = Columns::to_byte(v[k] + 128);
}

// Colors in 16-bit fixed point. Factors that do not fit 16 bits are split in two, one of them a
// power of 2: 19595, 38470 and 7471 give luma; -11059, -21709 and 32768 Cb; 32768, -27439 and -5329
// Cr.
constexpr int kColorMiddle = (128 << kColorBits) + kColorHalf - 1;

template <class Columns, class V = typename Columns::V>
ORBBEC_HD V luma_of(const V& red, const V& green, const V& blue) {
  const V sum = Columns::template sum<19595, 38470 - 16384>(Columns::pair(red, green)) +
                Columns::template sum<16384, 7471>(Columns::pair(green, blue));
  return (sum + kColorHalf) >> kColorBits;
}
template <class Columns, class V = typename Columns::V>
ORBBEC_HD V cb_of(const V& red, const V& green, const V& blue) {
  const V sum = Columns::template sum<-11059, -21709>(Columns::pair(red, green));
  return (sum + blue * 32768 + kColorMiddle) >> kColorBits;
}
template <class Columns, class V = typename Columns::V>
ORBBEC_HD V cr_of(const V& red, const V& green, const V& blue) {
  const V sum = Columns::template sum<-27439, -5329>(Columns::pair(green, blue));
  return (sum + red * 32768 + kColorMiddle) >> kColorBits;
}

// The mean of 2 x 2 values; halves are rounded down and up alternately.
ORBBEC_HD int mean_of_four(int sum, int64_t column) {
  return (sum + 1 + static_cast<int>(column & 1)) >> 2;
}

// The decoded chroma planes of an image.
struct ChromaPlanes {
  uint8_t* data;
  int height, width;

  ORBBEC_HD ChromaPlanes(const JpegArguments& a, int64_t n, int image_height, int image_width)
      : height(image_height / 2 + image_height % 2), width(image_width / 2 + image_width % 2) {
    // An image of three channels has space for two planes at its own offset.
    const int64_t first =
        a.source.layout != nullptr ? a.source.layout[3 * n] : n * 2 * height * int64_t{width};
    data = a.chroma + first;
  }

  ORBBEC_HD uint8_t* row(int plane, int64_t y) const {
    return data + (plane * int64_t{height} + y) * width;
  }

  // The other row or column that is blended with p / 2 for pixel `p`, with weight 1/4.
  ORBBEC_HD int64_t other_row(int64_t p) const { return other(p, height); }
  ORBBEC_HD int64_t other_column(int64_t p) const { return other(p, width); }

 private:
  // Planes of 2 or fewer columns are not blended.
  ORBBEC_HD int64_t other(int64_t p, int size) const {
    const int64_t nearer = p / 2, next = p % 2 == 0 ? nearer - 1 : nearer + 1;
    return width <= 2 || next < 0 || next >= size ? nearer : next;
  }
};

}  // namespace orbbec
