// Decodes a rectangle, one row of MCUs at a time, whose planes stay in the L2 cache. Included,
// below the target pragma, by decode_*.cpp and shorts_avx2.h.
#pragma once

#include <climits>

#include "decode.h"
#include "entropy.h"
#include "scan_data.h"
#include "upsample.h"

namespace orbbec {
namespace {  // one copy per target

// The rows of one component in a row of MCUs, preceded by the last row of the previous one. Only
// blocks that the rectangle needs are stored: half-open ranges of columns and rows.
struct Strip {
  int left, right, top, bottom;
  int rows, stride;
  int first_row;  // the row of the component at row 1 of the strip
  uint8_t* bytes;

  bool has(int row, int column) const {
    return row >= top && row < bottom && column >= left && column < right;
  }
  uint8_t* row(int y) const { return bytes + static_cast<ptrdiff_t>(y - first_row + 1) * stride; }
  uint8_t* block(int row_of_blocks, int column) const {
    return row(row_of_blocks * kBlockSide) + static_cast<ptrdiff_t>(column - left) * kBlockSide;
  }
  // Pixel x of a row.
  const uint8_t* at(int y, int x) const { return row(y) + (x - left * kBlockSide); }
};

// A block waiting for its inverse transform.
struct Pending {
  const int16_t* cells;
  const uint16_t* steps;
  uint8_t* to;
  ptrdiff_t stride;
};

// libjpeg-turbo's vectors multiply a row that has all coefficients of its block by 4 with 16-bit
// wrapping, and saturate larger products of other rows. Only damaged files reach these limits.
inline int wrapped_by_4(int value) { return static_cast<int16_t>(value * 4) >> 2; }

// The first row of each block, unchanged where it has all coefficients.
template <class Columns>
__attribute__((noinline)) typename Columns::V large_row(const Pending (&blocks)[Columns::kBlocks]) {
  static constexpr uint16_t kOnes[kBlockSide] = {1, 1, 1, 1, 1, 1, 1, 1};
  static constexpr int16_t kZeros[kCells - kBlockSide] = {};
  int16_t rows[Columns::kBlocks][kBlockSide];
  Pending rows_by_4[Columns::kBlocks];
  for (int b = 0; b < Columns::kBlocks; ++b) {
    rows_by_4[b] = blocks[b];
    if (std::memcmp(blocks[b].cells + kBlockSide, kZeros, sizeof(kZeros)) != 0) continue;
    for (int x = 0; x < kBlockSide; ++x) {
      rows[b][x] = static_cast<int16_t>(wrapped_by_4(blocks[b].cells[x] * blocks[b].steps[x]));
    }
    rows_by_4[b].cells = rows[b];
    rows_by_4[b].steps = kOnes;
  }
  return Columns::load_row(rows_by_4, 0);
}

template <class Columns>
__attribute__((noinline)) void inverse(const Pending (&blocks)[Columns::kBlocks]) {
  typename Columns::V v[kBlockSide];
  for (int y = 0; y < kBlockSide; ++y) v[y] = Columns::load_row(blocks, y);
  if (__builtin_expect(Columns::is_large(v[0]), 0)) v[0] = large_row<Columns>(blocks);
  inverse_pass<Columns, true>(v);
  Columns::transpose(v);
  inverse_pass<Columns, false>(v);
  Columns::transpose(v);
  Columns::store_rows(blocks, v);
}

// A block whose coefficients are all 0 except the first.
inline void fill_block(int first, uint8_t* to, ptrdiff_t stride) {
  const int value = OneColumn::to_byte(rounded_shift<3>(wrapped_by_4(first)) + 128);
  for (int y = 0; y < kBlockSide; ++y) std::memset(to + y * stride, value, kBlockSide);
}

template <class Columns>
class StripDecoder {
 public:
  explicit StripDecoder(const DecodeArguments& a)
      : a_(a),
        region_(a.region),
        data_(a.frame.scan, a.end, a.starts != nullptr),
        planes_(a.channels == 1 ? 1 : a.frame.count),
        factor_x_(a.frame.components[0].factor_x),
        factor_y_(a.frame.components[0].factor_y) {
    mcu_columns_ = divided_up(a.frame.width, factor_x_ * kBlockSide);
    mcu_rows_ = divided_up(a.frame.height, factor_y_ * kBlockSide);
    chroma_ = {divided_up(a.frame.height, factor_y_), divided_up(a.frame.width, factor_x_),
               factor_y_ == 2, factor_x_ == 2};
  }

  Decoded run() {
    if (!prepare()) return Decoded::kNoMemory;
    const int first = first_row();
    is_continuous_ = first == 0;
    for (int row = first; row < last_mcu_row_; ++row) {
      for (int c = 0; c < planes_; ++c) strips_[c].first_row = row * strips_[c].rows;
      if (!decode_row(row)) return Decoded::kDamaged;
      if (a_.planes != nullptr) {
        write_planes(row);
      } else {
        emit(row);
      }
      for (int c = 0; c < planes_; ++c) {
        const Strip& strip = strips_[c];
        std::memcpy(strip.bytes, strip.bytes + static_cast<ptrdiff_t>(strip.rows) * strip.stride,
                    static_cast<size_t>(strip.stride));
      }
    }
    // Checks what follows the last row, if requested, like libjpeg.
    const bool is_to_end = region_.top + region_.height == a_.frame.height;
    if (!is_to_end || knows(mcu_rows_)) return Decoded::kYes;
    if (data_.last_marker() != kEndOfImage) return Decoded::kDamaged;
    if (records(mcu_rows_)) a_.starts->rows[a_.starts->count++] = {};
    return Decoded::kYes;
  }

 private:
  static constexpr int kSlack = 32;  // bytes after a row that vectors may read and write
  static constexpr int kMaxBlocks = 6, kEndOfImage = 0xd9;

  // A block of an MCU: its position in its component and its decoding tables.
  struct McuBlock {
    int component, x, y, factor_x, factor_y;
    const DcTable* dc;
    const AcTable* ac;
    const SkipTable* skip;
    const uint16_t* steps;
  };

  static int divided_up(int value, int by) { return (value + by - 1) / by; }

  // Allocates the strips and lists the blocks of an MCU.
  bool prepare() {
    size_t bytes = 0;
    for (int c = 0; c < a_.frame.count; ++c) {
      const Component& component = a_.frame.components[c];
      for (int y = 0; y < component.factor_y; ++y) {
        for (int x = 0; x < component.factor_x; ++x) {
          const int table = c > 0;
          blocks_of_mcu_[block_count_++] = {.component = c,
                                            .x = x,
                                            .y = y,
                                            .factor_x = component.factor_x,
                                            .factor_y = component.factor_y,
                                            .dc = &a_.tables.dc[table],
                                            .ac = &a_.tables.ac[table],
                                            .skip = &a_.tables.skip[table],
                                            .steps = a_.frame.steps[component.steps]};
        }
      }
      if (c >= planes_) continue;
      lay_out(strips_[c], c);
      bytes += static_cast<size_t>(strips_[c].rows + 1) * strips_[c].stride;
      last_mcu_row_ = std::max(last_mcu_row_, divided_up(strips_[c].bottom, component.factor_y));
      first_mcu_row_ = std::min(first_mcu_row_, strips_[c].top / component.factor_y);
      last_mcu_column_ =
          std::max(last_mcu_column_, divided_up(strips_[c].right, component.factor_x));
    }
    const int64_t upsampled = int64_t{region_.width} + 2 * kSlack;
    memory_.reset(new (std::nothrow) uint8_t[bytes + 2 * upsampled]);
    if (memory_ == nullptr) return false;
    uint8_t* mcu_block = memory_.get();
    for (int c = 0; c < planes_; ++c) {
      strips_[c].bytes = mcu_block;
      mcu_block += static_cast<size_t>(strips_[c].rows + 1) * strips_[c].stride;
    }
    for (int c = 0; c < 2; ++c) upsampled_[c] = mcu_block + c * upsampled;
    return true;
  }

  // Sets the blocks of component c that the region's pixels depend on.
  void lay_out(Strip& strip, int c) const {
    const int factor_x = c > 0 ? factor_x_ : 1, factor_y = c > 0 ? factor_y_ : 1;
    const int height = c > 0 ? chroma_.height : a_.frame.height;
    const int width = c > 0 ? chroma_.width : a_.frame.width;
    // Halved values are blended with their neighbors.
    const auto first = [](int begin, int factor) {
      return std::max(begin / factor - (factor - 1), 0) / kBlockSide;
    };
    const auto last = [](int end, int factor, int size) {
      return std::min((end - 1) / factor + (factor - 1), size - 1) / kBlockSide + 1;
    };
    strip.left = first(region_.left, factor_x);
    strip.right = last(region_.left + region_.width, factor_x, width);
    strip.top = first(region_.top, factor_y);
    strip.bottom = last(region_.top + region_.height, factor_y, height);
    strip.rows = a_.frame.components[c].factor_y * kBlockSide;
    strip.stride = (strip.right - strip.left) * kBlockSide + kSlack;
  }

  bool knows(int row) const { return a_.starts != nullptr && row < a_.starts->count; }
  bool records(int row) const {
    return a_.starts != nullptr && row == a_.starts->count && !data_.has_fill_bytes();
  }

  // The last known row that nothing needed is above.
  int first_row() const {
    return a_.starts == nullptr ? 0 : std::min(first_mcu_row_, a_.starts->count - 1);
  }

  // Goes to the start of a row. If that of the next is known, no data of others are read but its
  // first byte, stuffed zero included.
  Bits start_of(int row) {
    const RowStart& start = a_.starts->rows[row];
    const bool has_next = row + 1 < mcu_rows_ && knows(row + 1);
    data_.seek(start.bit / 8,
               has_next ? a_.starts->rows[row + 1].bit / 8 + 2 : a_.end - a_.frame.scan);
    std::copy(start.dc, start.dc + kMaxComponents, dc_);
    mcus_left_ = int64_t{mcu_rows_} * mcu_columns_;
    segment_ = 1;
    Bits bits{data_.begin()};
    bits.fill();
    bits.drop(start.bit % 8);
    return bits;
  }

  void record(const Bits& bits) {
    const int ahead = static_cast<int>(bits.ahead & 63), bytes = (ahead + 7) / 8;
    RowStart& start = a_.starts->rows[a_.starts->count++];
    start.bit = static_cast<uint32_t>(8 * (data_.offset_of(bits.next - bytes) + bytes) - ahead);
    for (int c = 0; c < kMaxComponents; ++c) start.dc[c] = static_cast<int16_t>(dc_[c]);
  }

  __attribute__((noinline)) bool decode_row(int row) {
    const bool is_whole = !knows(row + 1);
    const int columns = is_whole ? mcu_columns_ : last_mcu_column_;
    Bits bits = is_continuous_ ? bits_ : start_of(row);
    for (int column = 0; column < columns; ++column) {
      if (mcus_left_ == 0) {
        if (!begin_segment()) return false;
        bits = Bits{data_.begin()};
      }
      --mcus_left_;
      bits.next = data_.read_on(bits.next);
      for (int i = 0; i < block_count_; ++i) {
        const McuBlock& mcu_block = blocks_of_mcu_[i];
        decode_block(mcu_block, row * mcu_block.factor_y + mcu_block.y,
                     column * mcu_block.factor_x + mcu_block.x, bits);
      }
      if (bits.is_past(data_.end())) return false;
    }
    if (row + 1 < mcu_rows_ && records(row + 1)) record(bits);
    bits_ = bits;
    is_continuous_ = is_whole;
    if (pending_ > 0) transform();
    return true;
  }

  // Every segment but the first starts with a restart marker, numbered 0 to 7 cyclically.
  bool begin_segment() {
    if (segment_ > 0 && data_.marker() != 0xd0 + (segment_ - 1) % 8) return false;
    ++segment_;
    std::fill(dc_, dc_ + kMaxComponents, 0u);
    mcus_left_ = a_.frame.restart_interval > 0 ? a_.frame.restart_interval
                                               : int64_t{mcu_rows_} * mcu_columns_;
    return true;
  }

  ORBBEC_HD void decode_block(const McuBlock& mcu_block, int row, int column, Bits& bits) {
    const int c = mcu_block.component;
    dc_[c] += static_cast<uint32_t>(read_dc(*mcu_block.dc, bits));
    const Strip& strip = strips_[c];
    if (c >= planes_ || !strip.has(row, column)) {
      skip_ac(*mcu_block.skip, mcu_block.ac->codes, bits);
      return;
    }
    Block& block = blocks_[pending_];
    block.clear();
    const int end = read_ac(*mcu_block.ac, bits, block.cells);
    const int16_t dc = static_cast<int16_t>(dc_[c]);
    uint8_t* const to = strip.block(row, column);
    if (end == kEndOfBlock + 1) {
      fill_block(dc * mcu_block.steps[0], to, strip.stride);
    } else {
      block.cells[0] = dc;
      waiting_[pending_++] = {block.cells, mcu_block.steps, to, strip.stride};
      if (pending_ == Columns::kBlocks) transform();
    }
  }

  void transform() {
    for (int i = pending_; i < Columns::kBlocks; ++i) waiting_[i] = waiting_[0];
    inverse<Columns>(waiting_);
    pending_ = 0;
  }

  // Writes the planes of a whole image.
  void write_planes(int row) const {
    uint8_t* plane = a_.planes;
    for (int c = 0; c < planes_; ++c) {
      const int height = c > 0 ? chroma_.height : a_.frame.height;
      const size_t width = static_cast<size_t>(c > 0 ? chroma_.width : a_.frame.width);
      const int end = std::min((row + 1) * strips_[c].rows, height);
      for (int y = row * strips_[c].rows; y < end; ++y) {
        std::memcpy(plane + static_cast<size_t>(y) * width, strips_[c].at(y, 0), width);
      }
      plane += static_cast<size_t>(height) * width;
    }
  }

  // Writes the complete rows: with vertically halved chroma, the last waits for the next row.
  void emit(int row) {
    const int rows = factor_y_ * kBlockSide, late = factor_y_ - 1,
              bottom = region_.top + region_.height;
    const int begin = std::max(row * rows - late, region_.top);
    const int end = row + 1 < last_mcu_row_ ? std::min((row + 1) * rows - late, bottom) : bottom;
    for (int y = begin; y < end; ++y)
      emit_row(y, a_.output.first + (y - region_.top) * a_.output.row_stride);
  }

  void emit_row(int y, uint8_t* to) {
    const uint8_t* const luma = strips_[0].at(y, region_.left);
    if (planes_ == 1) return write_gray(luma, to);
    const uint8_t* chroma[2];
    for (int c = 0; c < 2; ++c) {
      const Strip& strip = strips_[c + 1];
      const auto row_at = [&](int j) { return strip.at(j, 0); };
      chroma[c] =
          upsampled_row<Columns>(chroma_, row_at, y, region_.left, region_.width, upsampled_[c]);
    }
    write_colors(luma, chroma[0], chroma[1], to);
  }

  void write_gray(const uint8_t* luma, uint8_t* to) const {
    if (a_.output.pixel_stride == 1) {
      std::memcpy(to, luma, static_cast<size_t>(region_.width));
      return;
    }
    for (int x = 0; x < region_.width; ++x, to += a_.output.pixel_stride) {
      for (int c = 0; c < a_.channels; ++c) to[c] = luma[x];
    }
  }

  __attribute__((noinline)) void write_colors(const uint8_t* luma, const uint8_t* cb,
                                              const uint8_t* cr, uint8_t* to) const {
    const ptrdiff_t pixel_stride = a_.output.pixel_stride;
    int x = 0;
    for (; pixel_stride == 3 && x + Columns::kLanes <= region_.width; x += Columns::kLanes) {
      Columns::store_colors(
          to + 3 * x, color_of<Columns>(Columns::load_bytes(luma + x), Columns::load_bytes(cb + x),
                                        Columns::load_bytes(cr + x)));
    }
    for (; x < region_.width; ++x) {
      const Color<int> color = color_of<OneColumn, int>(luma[x], cb[x], cr[x]);
      uint8_t* const pixel = to + x * pixel_stride;
      pixel[0] = static_cast<uint8_t>(color.red);
      pixel[1] = static_cast<uint8_t>(color.green);
      pixel[2] = static_cast<uint8_t>(color.blue);
    }
  }

  const DecodeArguments a_;
  const Rectangle region_;
  ScanData data_;
  const int planes_;               // decoded planes
  const int factor_x_, factor_y_;  // pixels per chroma value
  ChromaSize chroma_;
  int mcu_columns_, mcu_rows_;
  int first_mcu_row_ = INT_MAX, last_mcu_row_ = 0, last_mcu_column_ = 0;  // that are needed
  McuBlock blocks_of_mcu_[kMaxBlocks];
  int block_count_ = 0;
  Strip strips_[kMaxComponents];
  uint8_t* upsampled_[2];
  std::unique_ptr<uint8_t[]> memory_;
  Block blocks_[Columns::kBlocks];
  Pending waiting_[Columns::kBlocks];
  int pending_ = 0;
  Bits bits_{};
  bool is_continuous_;                // whether bits_ are those of the next row
  uint32_t dc_[kMaxComponents] = {};  // modulo 2^32: sums of damaged files may overflow
  int64_t mcus_left_ = 0;             // in the segment
  int segment_ = 0;
};

}  // namespace
}  // namespace orbbec
