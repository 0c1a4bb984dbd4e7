// Reads the entropy-coded data of a JPEG: Huffman tables, and bits up to the next marker. Included
// by jpeg_check.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orbbec {

constexpr int kCoefficients = 64;
// Bits decoded by one lookup: most codes are shorter, and the tables stay in the L1 cache.
constexpr int kLookahead = 10, kMask = (1 << kLookahead) - 1;

enum Verdict { kWhole, kDamaged, kUnknown, kBomb };

struct Bad {
  Verdict verdict;
  const char* reason;
};

[[noreturn]] inline void damaged(const char* reason) { throw Bad{kDamaged, reason}; }
[[noreturn]] inline void bomb(const char* reason) { throw Bad{kBomb, reason}; }
[[noreturn]] inline void unknown(const char* reason) { throw Bad{kUnknown, reason}; }

struct Table {
  bool is_there = false;
  uint8_t counts[17] = {}, symbols[256] = {};
};

// ITU T.81, annex K: frames of Motion JPEG omit these tables.
constexpr uint8_t kDcCounts[2][16] = {{0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                      {0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}};
constexpr uint8_t kAcCounts[2][16] = {{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d},
                                      {0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77}};
constexpr uint8_t kAcSymbols[2][162] = {
    {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61,
     0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52,
     0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25,
     0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45,
     0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64,
     0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
     0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
     0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6,
     0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3,
     0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
     0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa},
    {0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61,
     0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33,
     0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18,
     0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44,
     0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63,
     0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
     0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
     0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4,
     0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca,
     0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
     0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa}};

// A decoding table: codes of up to kLookahead bits by lookup, longer ones bit by bit.
struct Codes {
  uint16_t at_once[1 << kLookahead];  // length << 8 | symbol; 0: a longer code
  // For blocks of baseline files: coefficients << 5 | bits, including those after the code.
  uint16_t jumps[1 << kLookahead];
  int32_t last[18], offset[17];  // by length
  uint8_t symbols[256];

  void derive(const Table& table) {
    std::memset(at_once, 0, sizeof at_once);
    std::memset(jumps, 0, sizeof jumps);
    std::memcpy(symbols, table.symbols, sizeof symbols);
    int32_t code = 0, index = 0;
    for (int length = 1; length <= 16; ++length, code <<= 1) {
      const int count = table.counts[length];
      offset[length] = index - code;
      last[length] = count ? code + count - 1 : -1;
      if (code + count > 1 << length || index + count > 256) damaged("a bad Huffman table");
      for (int i = 0; i < count; ++i, ++code, ++index) {
        if (length > kLookahead) continue;
        const int spare = kLookahead - length;
        const int zeros = symbols[index] >> 4, size = symbols[index] & 15;
        const int passed = size || zeros == 15 ? zeros + 1 : kCoefficients;
        for (int low = 0; low < 1 << spare; ++low) {
          at_once[code << spare | low] = static_cast<uint16_t>(length << 8 | symbols[index]);
          jumps[code << spare | low] = static_cast<uint16_t>(passed << 5 | (length + size));
        }
      }
    }
  }
};

// Bits up to the next marker, without stuffed zeros.
class Bits {
 public:
  Bits(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  const uint8_t* at() const { return at_; }

  int take(int count) {  // 0 to 16
    if (count_ < count) fill(count);
    count_ -= count;
    return static_cast<int>(bits_ >> count_) & ((1 << count) - 1);
  }

  // 17 bits that match no code count as symbol 0, as in libjpeg. With `strict` they are damage,
  // which libjpeg-turbo reports for progressive files only.
  int symbol(const Codes& codes, bool strict) {
    if (count_ < kLookahead) fill(0);
    const int found = codes.at_once[peek()];
    const int length = found >> 8;
    if (length && length <= count_) {
      count_ -= length;
      return found & 0xff;
    }
    // Shorter codes are ruled out, unless the data end.
    const bool is_long = length == 0 && count_ >= kLookahead;
    int size = is_long ? kLookahead : 1;
    for (int32_t code = take(size);; code = code << 1 | take(1)) {
      if (size <= 16 && code <= codes.last[size]) {
        return codes.symbols[(code + codes.offset[size]) & 0xff];
      }
      if (++size > 17) break;
    }
    if (strict) damaged("a bad Huffman code");
    return 0;
  }

  // Skips a block of a baseline file.
  void skip_block(const Codes& dc, const Codes& ac) {
    take(symbol(dc, false));
    for (int k = 1; k < kCoefficients;) {
      if (count_ < 32) fill(0);
      // Locals stay in registers; the bit buffer does not change here.
      const uint64_t buffer = bits_;
      int count = count_;
      for (int jump; k < kCoefficients && count >= kLookahead; k += jump >> 5) {
        jump = ac.jumps[buffer >> (count - kLookahead) & kMask];
        if (jump == 0 || (jump & 31) > count) break;
        count -= jump & 31;
      }
      const bool has_consumed = count != count_;
      count_ = count;
      if (has_consumed || k >= kCoefficients) continue;
      const int found = symbol(ac, false), zeros = found >> 4, bits = found & 15;
      if (bits == 0 && zeros != 15) return;
      k += zeros + 1;
      take(bits);
    }
  }

 private:
  int peek() const {
    const uint64_t bits =
        count_ < kLookahead ? bits_ << (kLookahead - count_) : bits_ >> (count_ - kLookahead);
    return static_cast<int>(bits & kMask);
  }

  void fill(int needed) {
    while (count_ <= 48) {
      if (end_ - at_ >= 8) {
        uint64_t next;
        std::memcpy(&next, at_, 8);
        // No byte is 0xff, so none starts a marker.
        if (((~next - 0x0101010101010101) & next & 0x8080808080808080) == 0) {
          const int bytes = (63 - count_) / 8;
          bits_ = bits_ << (8 * bytes) | __builtin_bswap64(next) >> (64 - 8 * bytes);
          count_ += 8 * bytes;
          at_ += bytes;
          break;
        }
      }
      if (at_ == end_) damaged("the file is cut off");
      if (*at_ == 0xff) {
        const uint8_t* next = at_ + 1;
        while (next < end_ && *next == 0xff) ++next;
        if (next == end_) damaged("the file is cut off");
        if (*next != 0) break;  // a marker
        at_ = next;
        push(0xff);
      } else {
        push(*at_);
      }
      ++at_;
    }
    if (count_ < needed) damaged("the data of a scan break off");
  }

  void push(uint8_t byte) {
    bits_ = bits_ << 8 | byte;
    count_ += 8;
  }

  const uint8_t *at_, *end_;
  uint64_t bits_ = 0;
  int count_ = 0;
};

}  // namespace orbbec
