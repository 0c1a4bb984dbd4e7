// A JPEG's scan as the host packs it for the decoder of jpeg_planes: tables, segments, and the
// entropy-coded bytes without stuffing and markers. Included by pack.cpp and units.h.
#pragma once

#include "../codes.h"

namespace orbbec {

constexpr uint32_t kMaxScanBytes = 1 << 21;  // the host decodes longer scans
constexpr int kScanAlignment = 16;           // of a packed scan, in bytes
constexpr int kScanPadding = 32;             // readable bytes after a scan's last

// The position of zigzag index k in a block that is stored column by column.
inline uint8_t position_of(int k) {
  return static_cast<uint8_t>(kZigzag[k] % kBlockSide * kBlockSide + kZigzag[k] / kBlockSide);
}

// The 16 bytes of a column of a block; blocks are stored column by column.
template <class T>
struct alignas(16) BlockColumn {
  T of[kBlockSide];
};

struct PackedCodes {
  uint8_t counts[kLongestCode];
  uint8_t symbols[256];
};

// Followed by the offset of each segment in the scan, uint32 [segments], and the scan's bytes.
struct alignas(kScanAlignment) PackedScan {
  // Quantization steps of a component.
  BlockColumn<uint16_t> steps[kMaxComponents][kBlockSide];
  PackedCodes codes[2][2];  // DC and AC; luma and chroma
  uint32_t scan_bytes;
  uint32_t segments;  // between restart markers
  uint32_t interval;  // MCUs of a segment; the last may have fewer

  ORBBEC_HD static int64_t bytes_with(int64_t segments, int64_t scan_bytes) {
    return static_cast<int64_t>(sizeof(PackedScan)) + 4 * segments + scan_bytes + kScanPadding;
  }
};

template <class T>
ORBBEC_HD T divided_up(T value, T by) {
  return value / by + (value % by != 0);
}

// The blocks of 8 x 8 of an image, in the order of its scan.
struct BlockGrid {
  int luma_columns, luma_rows;  // blocks of luma in an MCU
  uint32_t blocks_of_mcu;
  uint32_t mcu_columns, mcu_rows;
  int64_t mcus;

  BlockGrid() = default;
  ORBBEC_HD explicit BlockGrid(const StoredImage& image)
      : luma_columns(1 + image.halves_columns),
        luma_rows(1 + image.halves_rows),
        blocks_of_mcu(static_cast<uint32_t>(luma_columns * luma_rows) +
                      (image.subsampling == Subsampling::kGray ? 0 : 2)),
        mcu_columns(mcus_of(image.width, image.halves_columns)),
        mcu_rows(mcus_of(image.height, image.halves_rows)),
        mcus(int64_t{mcu_columns} * mcu_rows) {}

  ORBBEC_HD int64_t blocks() const { return mcus * blocks_of_mcu; }
  ORBBEC_HD int luma_blocks() const { return luma_columns * luma_rows; }  // in an MCU
  ORBBEC_HD int component_of(int block) const {
    return block < luma_blocks() ? 0 : block - luma_blocks() + 1;
  }
  ORBBEC_HD int components() const { return static_cast<int>(blocks_of_mcu) - luma_blocks() + 1; }

 private:
  ORBBEC_HD static uint32_t mcus_of(int pixels, int is_halved) {
    const int bits = 3 + is_halved;
    return (static_cast<uint32_t>(pixels) + (1u << bits) - 1) >> bits;
  }
};

}  // namespace orbbec
