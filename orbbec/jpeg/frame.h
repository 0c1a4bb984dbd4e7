// Reads the headers of a JPEG up to its entropy-coded data. Included by the decoder.
//
// Source: ITU-T T.81, annex B; ITU-T T.872 (Adobe's marker).
#pragma once

#include <cstddef>
#include <cstring>

#include "jpeg.h"

namespace orbbec {

// The number of codes of each length, and their symbols, shortest first.
struct CodeLengths {
  uint8_t counts[16];
  uint8_t symbols[256];
  int size;  // 0: not defined
};

struct Component {
  int identifier;
  int factor_x, factor_y;  // sampling factors
  int steps;               // index of its quantization table
  int dc, ac;              // indices of its Huffman tables
};

constexpr int kMaxComponents = 3, kTables = 4;

// A baseline or extended sequential image of one scan.
struct Frame {
  int height, width, count;  // count: components
  Component components[kMaxComponents];
  uint16_t steps[kTables][kCells];  // in row order
  bool has_steps[kTables];
  CodeLengths dc[kTables], ac[kTables];
  int restart_interval;  // MCUs; 0: none
  const uint8_t* scan;   // where the entropy-coded data start
};

// The numbers of core/stored_image.h.
inline int subsampling_of(const Frame& frame) {
  const Component& luma = frame.components[0];
  return frame.count == 1 ? 1 : 2 + (luma.factor_x - 1) + 2 * (luma.factor_y - 1);
}

// The row-order index of each zigzag position (T.81, figure 5).
constexpr uint8_t kZigzag[kCells] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// Reads headers. Unsupported or unusual files are rejected, and libjpeg decodes them.
class FrameReader {
 public:
  FrameReader(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  bool read(Frame& frame) {
    frame = {};
    if (left() < 2 || next_[0] != 0xff || next_[1] != kStartOfImage) return false;
    next_ += 2;
    for (;;) {
      int marker = 0;
      if (!next_segment(marker)) return false;
      const bool is_known = read_segment(marker, frame);
      if (!is_known) return false;
      next_ = segment_end_;
      if (marker == kStartOfScan) break;
    }
    frame.scan = next_;
    return is_supported(frame);
  }

 private:
  static constexpr int kStartOfImage = 0xd8, kStartOfScan = 0xda, kBaseline = 0xc0,
                       kExtended = 0xc1, kCodes = 0xc4, kSteps = 0xdb, kRestartInterval = 0xdd,
                       kFirstApplication = 0xe0, kAdobe = 0xee, kLastApplication = 0xef,
                       kComment = 0xfe;

  size_t left() const { return static_cast<size_t>(end_ - next_); }
  int byte() { return *next_++; }
  int word() {
    next_ += 2;
    return next_[-2] << 8 | next_[-1];
  }
  bool has(ptrdiff_t bytes) const { return segment_end_ - next_ >= bytes; }

  // A marker, possibly after fill bytes, and the length of its segment.
  bool next_segment(int& marker) {
    if (left() < 4 || byte() != 0xff) return false;
    do {
      if (left() < 3) return false;
      marker = byte();
    } while (marker == 0xff);
    const size_t length = static_cast<size_t>(word());
    if (length < 2 || left() < length - 2) return false;
    segment_end_ = next_ + length - 2;
    return true;
  }

  bool read_segment(int marker, Frame& frame) {
    if (marker == kBaseline || marker == kExtended) return read_frame(frame);
    if (marker == kCodes) return read_codes(frame);
    if (marker == kSteps) return read_steps(frame);
    if (marker == kStartOfScan) return read_scan(frame);
    if (marker == kRestartInterval) {
      if (!has(2)) return false;
      frame.restart_interval = word();
      return !has(1);
    }
    if (marker == kAdobe) return !is_adobe_rgb();
    return (marker >= kFirstApplication && marker <= kLastApplication) || marker == kComment;
  }

  // Whether Adobe's marker says anything other than YCbCr.
  bool is_adobe_rgb() const {
    return has(12) && std::memcmp(next_, "Adobe", 5) == 0 && next_[11] != 1;
  }

  bool read_frame(Frame& frame) {
    if (frame.count != 0 || !has(6) || byte() != 8) return false;
    frame.height = word();
    frame.width = word();
    frame.count = byte();
    if (!is_side(frame.height) || !is_side(frame.width)) return false;
    if ((frame.count != 1 && frame.count != kMaxComponents) || !has(3 * frame.count)) return false;
    for (int i = 0; i < frame.count; ++i) {
      Component& component = frame.components[i];
      component.identifier = byte();
      const int factors = byte();
      component.factor_x = factors >> 4;
      component.factor_y = factors & 15;
      component.steps = byte();
      if (component.steps >= kTables) return false;
    }
    return !has(1);
  }

  static bool is_side(int pixels) { return pixels >= 1 && pixels <= 65500; }  // libjpeg's limit

  bool read_steps(Frame& frame) {
    while (has(1)) {
      const int table = byte();
      if (table >= kTables || !has(kCells))
        return false;  // 16-bit quantization steps are not supported
      for (int i = 0; i < kCells; ++i) frame.steps[table][kZigzag[i]] = next_[i];
      frame.has_steps[table] = true;
      next_ += kCells;
    }
    return true;
  }

  bool read_codes(Frame& frame) {
    while (has(1)) {
      const int table = byte(), number = table & 15;
      if (table >> 5 != 0 || number >= kTables || !has(16)) return false;
      CodeLengths& codes = table >> 4 != 0 ? frame.ac[number] : frame.dc[number];
      codes = {};
      std::memcpy(codes.counts, next_, 16);
      next_ += 16;
      for (int length = 0; length < 16; ++length) codes.size += codes.counts[length];
      if (codes.size > 256 || !has(codes.size)) return false;
      std::memcpy(codes.symbols, next_, static_cast<size_t>(codes.size));
      next_ += codes.size;
    }
    return true;
  }

  bool read_scan(Frame& frame) {
    if (!has(1) || byte() != frame.count || frame.count == 0 || !has(2 * frame.count + 3)) {
      return false;
    }
    for (int i = 0; i < frame.count; ++i) {
      if (byte() != frame.components[i].identifier) return false;
      const int tables = byte();
      frame.components[i].dc = tables >> 4;
      frame.components[i].ac = tables & 15;
      if (frame.components[i].dc >= kTables || frame.components[i].ac >= kTables) return false;
    }
    const int first = byte(), last = byte(), bits = byte();
    return first == 0 && last == kCells - 1 && bits == 0 && !has(1);
  }

  // Gray, or YCbCr with full or halved chroma, with all its tables.
  static bool is_supported(Frame& frame) {
    for (int i = 0; i < frame.count; ++i) {
      const Component& component = frame.components[i];
      if (!frame.has_steps[component.steps] || frame.dc[component.dc].size == 0 ||
          frame.ac[component.ac].size == 0) {
        return false;
      }
      const Component& chroma = frame.components[1];
      if (i > 1 && (component.dc != chroma.dc || component.ac != chroma.ac)) return false;
      if (i > 0 && (component.factor_x != 1 || component.factor_y != 1)) return false;
    }
    Component* const all = frame.components;
    if (frame.count ==
        1) {  // a scan of one component has one block per MCU, whatever the factors say
      if (all[0].factor_x < 1 || all[0].factor_x > 4 || all[0].factor_y < 1 || all[0].factor_y > 4)
        return false;
      all[0].factor_x = all[0].factor_y = 1;
      return true;
    }
    const bool is_rgb =
        all[0].identifier == 'R' && all[1].identifier == 'G' && all[2].identifier == 'B';
    return !is_rgb && all[0].factor_x >= 1 && all[0].factor_x <= 2 && all[0].factor_y >= 1 &&
           all[0].factor_y <= 2;
  }

  const uint8_t* next_;
  const uint8_t* const end_;
  const uint8_t* segment_end_ = nullptr;
};

}  // namespace orbbec
