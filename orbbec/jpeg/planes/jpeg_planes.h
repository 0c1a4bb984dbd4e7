// jpeg_planes: planes from packed scans of JPEGs, bit-identical to libjpeg. Included by
// jpeg_planes_cpu.cpp, jpeg_planes_cuda.cu and binding.cpp.
#pragma once

#include "units.h"

namespace orbbec {

// A batch; the tables are in device memory, where the host cannot check them.
struct JpegPlanes {
  const uint8_t* scans;
  int64_t scan_bytes;
  const int64_t* files;  // [N, 3]: offset and bytes in `scans`, first block; no bytes: no JPEG
  StoredImages stored;
  int16_t* coefficients;  // [blocks, 64], column by column; all 0
  int64_t blocks;
  int64_t unit_bits;
  int32_t* flags;             // [N], all 0
  uint8_t positions[kCells];  // of `Lookups`; here, threads can index them

  ORBBEC_HD bool has_scan(int64_t n) const { return files[3 * n + 1] != 0; }
  ORBBEC_HD int16_t* coefficients_of(int64_t n) const {
    return coefficients + files[3 * n + 2] * kCells;
  }

  // Not valid if the tables do not match.
  ORBBEC_HD Scan scan(int64_t n) const {
    const int64_t offset = files[3 * n], bytes = files[3 * n + 1], first = files[3 * n + 2];
    const StoredImage image = stored[n];
    const bool is_inside = offset >= 0 && offset % kScanAlignment == 0 && offset <= scan_bytes &&
                           bytes >= 0 && bytes <= scan_bytes - offset && first >= 0;
    if (!is_inside || !has_planes(n, image)) return Scan(nullptr, 0, BlockGrid(), unit_bits);
    const Scan result(scans + offset, bytes, BlockGrid(image), unit_bits);
    const bool fits = result.grid.blocks() <= blocks - first;
    return fits ? result : Scan(nullptr, 0, BlockGrid(), unit_bits);
  }

 private:
  ORBBEC_HD bool has_planes(int64_t n, const StoredImage& image) const {
    const bool is_transposed_image = is_transposed(stored.orientation(n));
    return image.subsampling != Subsampling::kRgb &&
           stored.has_size(n, image, is_transposed_image ? image.width : image.height,
                           is_transposed_image ? image.height : image.width);
  }
};

// A block of 8 x 8 in its plane.
struct PlaneBlock {
  const uint16_t* steps;  // column by column
  uint8_t* first;
  int rows, columns;  // inside the plane, from 0 to 8
  int64_t stride;

  // Block `index` in the order of the scan.
  ORBBEC_HD PlaneBlock(const Scan& scan, const StoredImage& image, int64_t index) {
    const BlockGrid& grid = scan.grid;
    const auto i = static_cast<uint32_t>(index);  // 32 bits divide faster
    const uint32_t mcu = i / grid.blocks_of_mcu;
    const int block = static_cast<int>(i % grid.blocks_of_mcu);
    const int luma_blocks = grid.luma_columns * grid.luma_rows;
    const bool is_luma = block < luma_blocks;
    const int component = is_luma ? 0 : block - luma_blocks + 1;
    int64_t y = mcu / grid.mcu_columns, x = mcu % grid.mcu_columns;
    if (is_luma) {
      y = y * grid.luma_rows + block / grid.luma_columns;
      x = x * grid.luma_columns + block % grid.luma_columns;
    }
    y *= kBlockSide;
    x *= kBlockSide;
    steps = scan.packed->steps[component];
    stride = is_luma ? image.width : image.chroma_width;
    rows = inside(y, is_luma ? image.height : image.chroma_height);
    columns = inside(x, stride);
    const uint8_t* const plane = component == 0   ? image.data
                                 : component == 1 ? image.chroma_data[0]
                                                  : image.chroma_data[1];
    first = const_cast<uint8_t*>(plane) + y * stride + x;
  }

 private:
  ORBBEC_HD static int inside(int64_t from, int64_t size) {
    return static_cast<int>(clamp(size - from));
  }
  ORBBEC_HD static int64_t clamp(int64_t left) { return left < 0 ? 0 : smaller<int64_t>(left, 8); }
};

// Of 14 and 15 bits: no sum of the inverse transform leaves 16 bits, no product 32.
constexpr int kCoefficientBits = 14, kFirstPassBits = 15;

// Whether all numbers fit so many bits; sets them to 0 if not.
ORBBEC_HD bool all_fit(int (&v)[kBlockSide], int bits) {
  int all = 0;
  for (int y = 0; y < kBlockSide; ++y) all |= v[y] ^ v[y] >> 31;
  if (all >> (bits - 1) == 0) return true;
  for (int y = 0; y < kBlockSide; ++y) v[y] = 0;
  return false;
}

// The 16 bytes of a column.
template <class T>
struct alignas(16) BlockColumn {
  T of[kBlockSide];
};

// A column of coefficients after the first pass; false if a number is too large.
ORBBEC_HD bool inverse_column(const int16_t* coefficients, const uint16_t* steps,
                              int (&v)[kBlockSide]) {
  const auto column = *reinterpret_cast<const BlockColumn<int16_t>*>(coefficients);
  const auto factors = *reinterpret_cast<const BlockColumn<uint16_t>*>(steps);
  for (int y = 0; y < kBlockSide; ++y) v[y] = column.of[y] * factors.of[y];
  if (!all_fit(v, kCoefficientBits)) return false;
  inverse_pass<OneColumn, true>(v);
  return all_fit(v, kFirstPassBits);
}

// Row of a block after the first pass, to pixels.
ORBBEC_HD void inverse_row(int (&v)[kBlockSide]) {
  inverse_pass<OneColumn, false>(v);
  for (int x = 0; x < kBlockSide; ++x) v[x] = OneColumn::to_byte(v[x] + 128);
}

}  // namespace orbbec
