// Decoding a rectangle, a row of MCUs at a time, whose planes stay in the second cache. Included,
// below the target, by decode_*.cpp and shorts_avx2.h.
#pragma once

#include "decode.h"
#include "enlarge.h"
#include "entropy.h"
#include "scan_data.h"

namespace orbbec {
namespace {  // each file compiles its own, for its kind of machine

// The rows of one component in a row of MCUs, and before them the last one of the row above. Of its
// blocks only those are there that the rectangle needs: columns and rows, the ends not among them.
struct Strip {
  int left, right, top, bottom;
  int rows, stride;
  int first_row;  // of the component, that row 1 of the strip is
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

// A block that is not yet transformed.
struct Pending {
  const int16_t* cells;
  const uint16_t* steps;
  uint8_t* to;
  ptrdiff_t stride;
};

// libjpeg-turbo's vectors multiply a row that has all coefficients of its block by 4 within 16
// bits, and let larger products of others saturate. Only damaged files have such.
inline int kept_by_4(int value) { return static_cast<int16_t>(value * 4) >> 2; }

// The first row of each block, as it is where it has all coefficients.
template <class Columns>
__attribute__((noinline)) typename Columns::V large_row(const Pending (&blocks)[Columns::kBlocks]) {
  static constexpr uint16_t kOnes[kBlockSide] = {1, 1, 1, 1, 1, 1, 1, 1};
  static constexpr int16_t kZeros[kCells - kBlockSide] = {};
  int16_t rows[Columns::kBlocks][kBlockSide];
  Pending kept[Columns::kBlocks];
  for (int b = 0; b < Columns::kBlocks; ++b) {
    kept[b] = blocks[b];
    if (std::memcmp(blocks[b].cells + kBlockSide, kZeros, sizeof(kZeros)) != 0) continue;
    for (int x = 0; x < kBlockSide; ++x) {
      rows[b][x] = static_cast<int16_t>(kept_by_4(blocks[b].cells[x] * blocks[b].steps[x]));
    }
    kept[b].cells = rows[b];
    kept[b].steps = kOnes;
  }
  return Columns::load_row(kept, 0);
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

// A block whose coefficients are all 0 but the first.
inline void fill_block(int first, uint8_t* to, ptrdiff_t stride) {
  const int value = OneColumn::to_byte(rounded_shift<3>(kept_by_4(first)) + 128);
  for (int y = 0; y < kBlockSide; ++y) std::memset(to + y * stride, value, kBlockSide);
}

template <class Columns>
class StripDecoder {
 public:
  explicit StripDecoder(const DecodeArguments& a)
      : a_(a),
        part_(a.part),
        data_(a.frame.scan, a.end),
        planes_(a.channels == 1 ? 1 : a.frame.count),
        across_(a.frame.components[0].across),
        down_(a.frame.components[0].down) {
    mcu_columns_ = divided_up(a.frame.width, across_ * kBlockSide);
    mcu_rows_ = divided_up(a.frame.height, down_ * kBlockSide);
    chroma_ = {divided_up(a.frame.height, down_), divided_up(a.frame.width, across_), down_ == 2,
               across_ == 2};
  }

  Decoded run() {
    if (!prepare()) return Decoded::kNoMemory;
    for (int row = 0; row < last_mcu_row_; ++row) {
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
    // What follows the last row is looked at where that is wanted, as libjpeg does.
    const bool is_to_end = part_.top + part_.height == a_.frame.height;
    return !is_to_end || data_.last_marker() == kEndOfImage ? Decoded::kYes : Decoded::kDamaged;
  }

 private:
  static constexpr int kSlack = 32;  // bytes after a row, which vectors may read and write
  static constexpr int kMostBlocks = 6, kEndOfImage = 0xd9;

  // A block of an MCU: which it is of its component's, and what that is decoded by.
  struct Place {
    int component, x, y, across, down;
    const DcTable* dc;
    const AcTable* ac;
    const SkipTable* skip;
    const uint16_t* steps;
  };

  static int divided_up(int value, int by) { return (value + by - 1) / by; }

  // Lays out the strips and the blocks of an MCU.
  bool prepare() {
    size_t bytes = 0;
    for (int c = 0; c < a_.frame.count; ++c) {
      const Component& component = a_.frame.components[c];
      for (int y = 0; y < component.down; ++y) {
        for (int x = 0; x < component.across; ++x) {
          const int table = c > 0;
          blocks_of_mcu_[block_count_++] = {c,
                                            x,
                                            y,
                                            component.across,
                                            component.down,
                                            &a_.tables.dc[table],
                                            &a_.tables.ac[table],
                                            &a_.tables.skip[table],
                                            a_.frame.steps[component.steps]};
        }
      }
      if (c >= planes_) continue;
      lay_out(strips_[c], c);
      bytes += static_cast<size_t>(strips_[c].rows + 1) * strips_[c].stride;
      last_mcu_row_ = std::max(last_mcu_row_, divided_up(strips_[c].bottom, component.down));
    }
    const int64_t enlarged = int64_t{part_.width} + 2 * kSlack;
    memory_.reset(new (std::nothrow) uint8_t[bytes + 2 * enlarged]);
    if (memory_ == nullptr) return false;
    uint8_t* place = memory_.get();
    for (int c = 0; c < planes_; ++c) {
      strips_[c].bytes = place;
      place += static_cast<size_t>(strips_[c].rows + 1) * strips_[c].stride;
    }
    for (int c = 0; c < 2; ++c) enlarged_[c] = place + c * enlarged;
    return true;
  }

  // The blocks of component c that pixels of the part are made of.
  void lay_out(Strip& strip, int c) const {
    const int across = c > 0 ? across_ : 1, down = c > 0 ? down_ : 1;
    const int height = c > 0 ? chroma_.height : a_.frame.height;
    const int width = c > 0 ? chroma_.width : a_.frame.width;
    // A value that is halved is blended with the ones beside it.
    const auto first = [](int begin, int factor) {
      return std::max(begin / factor - (factor - 1), 0) / kBlockSide;
    };
    const auto last = [](int end, int factor, int size) {
      return std::min((end - 1) / factor + (factor - 1), size - 1) / kBlockSide + 1;
    };
    strip.left = first(part_.left, across);
    strip.right = last(part_.left + part_.width, across, width);
    strip.top = first(part_.top, down);
    strip.bottom = last(part_.top + part_.height, down, height);
    strip.rows = a_.frame.components[c].down * kBlockSide;
    strip.stride = (strip.right - strip.left) * kBlockSide + kSlack;
  }

  __attribute__((noinline)) bool decode_row(int row) {
    Bits bits = bits_;
    for (int column = 0; column < mcu_columns_; ++column) {
      if (mcus_left_ == 0) {
        if (!begin_segment()) return false;
        bits = Bits{data_.begin()};
      }
      --mcus_left_;
      bits.next = data_.read_on(bits.next);
      for (int i = 0; i < block_count_; ++i) {
        const Place& place = blocks_of_mcu_[i];
        decode_block(place, row * place.down + place.y, column * place.across + place.x, bits);
      }
      if (bits.is_past(data_.end())) return false;
    }
    bits_ = bits;
    if (pending_ > 0) transform();
    return true;
  }

  // Before every segment but the first there is a restart marker, with numbers from 0 to 7.
  bool begin_segment() {
    if (segment_ > 0 && data_.marker() != 0xd0 + (segment_ - 1) % 8) return false;
    ++segment_;
    std::fill(dc_, dc_ + kMostComponents, 0u);
    mcus_left_ = a_.frame.restart_interval > 0 ? a_.frame.restart_interval
                                               : int64_t{mcu_rows_} * mcu_columns_;
    return true;
  }

  ORBBEC_HD void decode_block(const Place& place, int row, int column, Bits& bits) {
    const int c = place.component;
    dc_[c] += static_cast<uint32_t>(read_dc(*place.dc, bits));
    const Strip& strip = strips_[c];
    if (c >= planes_ || !strip.has(row, column)) {
      skip_ac(*place.skip, place.ac->codes, bits);
      return;
    }
    Block& block = blocks_[pending_];
    block.clear();
    const int end = read_ac(*place.ac, bits, block.cells);
    const int16_t dc = static_cast<int16_t>(dc_[c]);
    uint8_t* const to = strip.block(row, column);
    if (end == kEndOfBlock + 1) {
      fill_block(dc * place.steps[0], to, strip.stride);
    } else {
      block.cells[0] = dc;
      waiting_[pending_++] = {block.cells, place.steps, to, strip.stride};
      if (pending_ == Columns::kBlocks) transform();
    }
  }

  void transform() {
    for (int i = pending_; i < Columns::kBlocks; ++i) waiting_[i] = waiting_[0];
    inverse<Columns>(waiting_);
    pending_ = 0;
  }

  // The planes of a whole image.
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

  // Writes the rows that are complete: where rows of chroma are halved, the last waits for the row
  // below.
  void emit(int row) {
    const int rows = down_ * kBlockSide, late = down_ - 1, bottom = part_.top + part_.height;
    const int begin = std::max(row * rows - late, part_.top);
    const int end = row + 1 < last_mcu_row_ ? std::min((row + 1) * rows - late, bottom) : bottom;
    for (int y = begin; y < end; ++y)
      emit_row(y, a_.output.first + (y - part_.top) * a_.output.down);
  }

  void emit_row(int y, uint8_t* to) {
    const uint8_t* const luma = strips_[0].at(y, part_.left);
    if (planes_ == 1) return write_gray(luma, to);
    const uint8_t* chroma[2];
    for (int c = 0; c < 2; ++c) {
      const Strip& strip = strips_[c + 1];
      const auto row_at = [&](int j) { return strip.at(j, 0); };
      chroma[c] = enlarged_row<Columns>(chroma_, row_at, y, part_.left, part_.width, enlarged_[c]);
    }
    write_colors(luma, chroma[0], chroma[1], to);
  }

  void write_gray(const uint8_t* luma, uint8_t* to) const {
    if (a_.output.across == 1) {
      std::memcpy(to, luma, static_cast<size_t>(part_.width));
      return;
    }
    for (int x = 0; x < part_.width; ++x, to += a_.output.across) {
      for (int c = 0; c < a_.channels; ++c) to[c] = luma[x];
    }
  }

  __attribute__((noinline)) void write_colors(const uint8_t* luma, const uint8_t* blueness,
                                              const uint8_t* redness, uint8_t* to) const {
    const ptrdiff_t across = a_.output.across;
    int x = 0;
    for (; across == 3 && x + Columns::kLanes <= part_.width; x += Columns::kLanes) {
      Columns::store_colors(to + 3 * x, color_of<Columns>(Columns::load_bytes(luma + x),
                                                          Columns::load_bytes(blueness + x),
                                                          Columns::load_bytes(redness + x)));
    }
    for (; x < part_.width; ++x) {
      const Color<int> color = color_of<OneColumn, int>(luma[x], blueness[x], redness[x]);
      uint8_t* const pixel = to + x * across;
      pixel[0] = static_cast<uint8_t>(color.red);
      pixel[1] = static_cast<uint8_t>(color.green);
      pixel[2] = static_cast<uint8_t>(color.blue);
    }
  }

  const DecodeArguments a_;
  const Rectangle part_;
  ScanData data_;
  const int planes_;         // that are decoded
  const int across_, down_;  // pixels of a value of chroma
  ChromaSize chroma_;
  int mcu_columns_, mcu_rows_, last_mcu_row_ = 0;
  Place blocks_of_mcu_[kMostBlocks];
  int block_count_ = 0;
  Strip strips_[kMostComponents];
  uint8_t* enlarged_[2];
  std::unique_ptr<uint8_t[]> memory_;
  Block blocks_[Columns::kBlocks];
  Pending waiting_[Columns::kBlocks];
  int pending_ = 0;
  Bits bits_{};
  uint32_t dc_[kMostComponents] = {};  // modulo 2^32: damaged files have sums of any size
  int64_t mcus_left_ = 0;              // of the segment
  int segment_ = 0;
};

}  // namespace
}  // namespace orbbec
