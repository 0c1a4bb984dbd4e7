// jpeg_planes: planes from packed scans of JPEGs, bit-identical to libjpeg. Included by
// jpeg_planes_cpu.cpp, jpeg_planes_cuda.cu and binding.cpp.
#pragma once

#include "units.h"

namespace orbbec {

// The MCUs that a rectangle of an image touches, with the neighbors that upsampling reads.
struct McuRegion {
  uint32_t left, top, columns, rows;

  // box: left, top, right and bottom in pixels of the stored image.
  ORBBEC_HD McuRegion(const BlockGrid& grid, const int64_t* box)
      : McuRegion(span(box[0], box[2], grid.luma_columns, grid.mcu_columns),
                  span(box[1], box[3], grid.luma_rows, grid.mcu_rows)) {}

  // Blocks across, and of all rows, of a component.
  ORBBEC_HD uint32_t columns_of(const BlockGrid& grid, int component) const {
    return component == 0 ? columns * grid.luma_columns : columns;
  }
  ORBBEC_HD uint32_t blocks_of(const BlockGrid& grid, int component) const {
    return columns_of(grid, component) * (component == 0 ? rows * grid.luma_rows : rows);
  }

 private:
  struct Span {
    uint32_t first, count;
  };

  ORBBEC_HD McuRegion(Span x, Span y)
      : left(x.first), top(y.first), columns(x.count), rows(y.count) {}

  // Along an axis, for MCUs of one or two blocks.
  ORBBEC_HD static Span span(int64_t from, int64_t to, int blocks, uint32_t mcus) {
    constexpr int64_t kNeighbor = 2;  // pixels: a value of halved chroma
    const int bits = 2 + blocks;
    const int64_t size = int64_t{mcus} << bits;
    from = smaller(larger(from, kNeighbor), size) - kNeighbor;
    to = smaller(larger<int64_t>(to, 0), size - kNeighbor) + kNeighbor;
    const int64_t first = from >> bits, end = (to + (1 << bits) - 1) >> bits;
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(larger<int64_t>(end - first, 0))};
  }
};

// A batch; the tables are in device memory, where the host cannot check them.
struct JpegPlanes {
  const uint8_t* scans;
  int64_t scan_bytes;
  // [N, 7]: offset and bytes in `scans`, first block, box of an McuRegion; no bytes: no JPEG
  const int64_t* files;
  StoredImages stored;
  int16_t* coefficients;  // [blocks, 64], see BlockColumn; all 0
  int64_t blocks;
  int64_t unit_bits;
  int32_t* flags;             // [N], all 0
  uint8_t positions[kCells];  // of `Lookups`; here, threads can index them

  static constexpr int kColumns = 7;

  ORBBEC_HD const int64_t* file(int64_t n) const { return files + kColumns * n; }
  ORBBEC_HD bool has_scan(int64_t n) const { return file(n)[1] != 0; }
  ORBBEC_HD const int64_t* box(int64_t n) const { return file(n) + 3; }
  ORBBEC_HD int16_t* coefficients_of(int64_t n) const { return coefficients + file(n)[2] * kCells; }
  // The columns of block `block` of an image.
  ORBBEC_HD const BlockColumn<int16_t>* columns_of(int64_t n, int64_t block) const {
    return reinterpret_cast<const BlockColumn<int16_t>*>(coefficients_of(n) + block * kCells);
  }

  // Not valid if the tables do not match.
  ORBBEC_HD Scan scan(int64_t n) const {
    const int64_t offset = file(n)[0], bytes = file(n)[1], first = file(n)[2];
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
  int64_t index;  // in the scan
  uint8_t* first;
  int rows, columns;  // inside the plane, from 0 to 8

  // Block i of a component in a region, row by row.
  ORBBEC_HD PlaneBlock(const BlockGrid& grid, const StoredImage& image, const McuRegion& region,
                       int component, uint32_t i) {
    const bool is_luma = component == 0;
    const int shift_x = is_luma ? grid.luma_columns - 1 : 0;
    const int shift_y = is_luma ? grid.luma_rows - 1 : 0;
    const uint32_t across = region.columns_of(grid, component);
    const uint32_t x = (region.left << shift_x) + i % across;
    const uint32_t y = (region.top << shift_y) + i / across;
    const uint32_t of_mcu =
        is_luma ? ((y & shift_y) << shift_x) + (x & shift_x) : grid.luma_blocks() + component - 1;
    const int64_t mcu = int64_t{y >> shift_y} * grid.mcu_columns + (x >> shift_x);
    index = mcu * grid.blocks_of_mcu + of_mcu;
    const int64_t stride = stride_of(image, component);
    rows = inside(y, is_luma ? image.height : image.chroma_height);
    columns = inside(x, stride);
    const uint8_t* const plane = is_luma          ? image.data
                                 : component == 1 ? image.chroma_data[0]
                                                  : image.chroma_data[1];
    first = const_cast<uint8_t*>(plane) + kBlockSide * (y * stride + x);
  }

  ORBBEC_HD static int64_t stride_of(const StoredImage& image, int component) {
    return component == 0 ? image.width : image.chroma_width;
  }

 private:
  ORBBEC_HD static int inside(int64_t block, int64_t size) {
    return static_cast<int>(smaller<int64_t>(larger<int64_t>(size - kBlockSide * block, 0), 8));
  }
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

// A column of coefficients after the first pass; false if a number is too large.
ORBBEC_HD bool inverse_column(const BlockColumn<int16_t>& coefficients,
                              const BlockColumn<uint16_t>& steps, int (&v)[kBlockSide]) {
  for (int y = 0; y < kBlockSide; ++y) v[y] = coefficients.of[y] * steps.of[y];
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
