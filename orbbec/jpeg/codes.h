// Huffman tables that decode several bits per lookup. Included by entropy.h.
//
// Source: ITU-T T.81, annexes C and F.2.
#pragma once

#include "frame.h"

namespace orbbec {

constexpr int kLongestCode = 16;

// Canonical codes (T.81, figures C.1, C.2 and F.15).
struct Codes {
  int last[kLongestCode + 1];    // the last code of each length, -1 where there is none
  int offset[kLongestCode + 1];  // added to a code of that length, gives its symbol's index
  uint8_t symbols[256];

  // Returns false if a length has more codes than are available.
  bool set(const CodeLengths& lengths) {
    std::memcpy(symbols, lengths.symbols, sizeof(symbols));
    int code = 0, index = 0;
    for (int length = 1; length <= kLongestCode; ++length, code <<= 1) {
      const int count = lengths.counts[length - 1];
      offset[length] = index - code;
      code += count;
      index += count;
      last[length] = count > 0 ? code - 1 : -1;
      if (count > 0 && code >= 1 << length) return false;  // all ones is no code
    }
    return true;
  }
};

// Whether an AC symbol ends its block. T.81 defines one such symbol; libjpeg accepts any with
// neither a number nor 16 zeros.
ORBBEC_HD bool ends_block(int symbol) { return (symbol & 15) == 0 && symbol != 0xf0; }

// The number encoded by `size` bits (T.81, figure F.12).
ORBBEC_HD int extended(int bits, int size) {
  return bits < (1 << size >> 1) ? bits - (1 << size) + 1 : bits;
}

// Decodes kBits bits to a DC difference.
struct DcTable {
  static constexpr int kBits = 10;

  // Bits 0 to 7: the number of bits; 16 to 31: the difference. If the difference does not fit, bit
  // 8 is 1 and bits 16 to 31 are its size; all are 0 if the code does not fit.
  using Entry = uint32_t;
  static constexpr Entry kLonger = 1 << 8;
  ORBBEC_HD static int number(Entry e) { return static_cast<int32_t>(e) >> 16; }

  Codes codes;
  Entry entries[1 << kBits];

  bool set(const CodeLengths& lengths) {
    if (!codes.set(lengths)) return false;
    std::memset(entries, 0, sizeof(entries));
    int code = 0, index = 0;
    for (int l = 1; l <= kLongestCode; ++l, code <<= 1) {
      for (int i = 0; i < lengths.counts[l - 1]; ++i, ++code, ++index) {
        const int size = lengths.symbols[index], length = l + size;
        if (size > 15) return false;
        if (l > kBits) continue;
        for (int j = 0; j < 1 << (kBits - l); ++j) {
          const bool fits = length <= kBits;
          const int number = fits ? extended(j >> (kBits - length), size) : size;
          entries[(code << (kBits - l)) + j] = static_cast<uint32_t>(number) << 16 |
                                               static_cast<uint32_t>(fits ? length : l | kLonger);
        }
      }
    }
    return true;
  }
};

// The most coefficients per entry, and the offset added at the end of a block, which exceeds a
// block plus one entry.
constexpr int kMaxAdvance = 32, kEndOfBlock = kCells + kMaxAdvance;

// Decodes kBits bits to one or two AC coefficients with their numbers, if they fit.
struct AcTable {
  static constexpr int kBits = 10;

  // Byte 0: the number of bits; 1: the number of coefficients; 2: the zeros before the first; 4, 5
  // and 6, 7: the numbers. If not even one fits, byte 1 is 0, byte 0 the size of its number and
  // byte 3 the length of its code; all are 0 if the code does not fit.
  using Entry = uint64_t;
  ORBBEC_HD static uint32_t length(Entry e) { return e & 255; }
  ORBBEC_HD static uint32_t advance(Entry e) { return e >> 8 & 255; }
  ORBBEC_HD static uint32_t zeros(Entry e) { return e >> 16 & 255; }
  ORBBEC_HD static uint32_t code_length(Entry e) { return e >> 24 & 255; }
  ORBBEC_HD static int16_t first(Entry e) { return static_cast<int16_t>(e >> 32); }
  ORBBEC_HD static int16_t second(Entry e) { return static_cast<int16_t>(e >> 48); }

  Codes codes;
  Entry entries[1 << kBits];

  bool set(const CodeLengths& lengths) {
    if (!codes.set(lengths)) return false;
    Entry single[1 << kBits];
    std::memset(single, 0, sizeof(single));
    int code = 0, index = 0;
    for (int l = 1; l <= kBits; ++l, code <<= 1) {
      for (int i = 0; i < lengths.counts[l - 1]; ++i, ++code, ++index) {
        add(single + (code << (kBits - l)), l, lengths.symbols[index]);
      }
    }
    for (int i = 0; i < 1 << kBits; ++i) entries[i] = joined(single, i);
    return true;
  }

 private:
  static Entry entry(int length, int advance, int zeros, int code_length, int first) {
    return static_cast<Entry>(length | advance << 8 | zeros << 16 | code_length << 24) |
           static_cast<Entry>(first & 65535) << 32;
  }

  // Fills the entries that begin with a code.
  static void add(Entry* to, int code_length, int symbol) {
    const int zeros = symbol >> 4, size = symbol & 15, length = code_length + size;
    const int count = 1 << (kBits - code_length);
    if (ends_block(symbol)) {
      for (int i = 0; i < count; ++i) to[i] = entry(length, kEndOfBlock, 0, 0, 0);
    } else if (length > kBits) {
      for (int i = 0; i < count; ++i) to[i] = entry(size, 0, zeros, code_length, 0);
    } else {
      const int same = 1 << (kBits - length);
      for (int bits = 0; bits < 1 << size; ++bits) {
        const Entry e = entry(length, zeros + 1, zeros, 0, extended(bits, size));
        for (int i = 0; i < same; ++i) *to++ = e;
      }
    }
  }

  static Entry joined(const Entry* single, int i) {
    const Entry a = single[i];
    const Entry b = single[static_cast<uint32_t>(i) << length(a) & ((1u << kBits) - 1)];
    const bool fits = advance(a) != 0 && advance(a) < kEndOfBlock && advance(b) != 0 &&
                      length(a) + length(b) <= kBits;
    if (!fits) return a;
    return a + ((b & 0xffff) | static_cast<Entry>(static_cast<uint16_t>(first(b))) << 48);
  }
};

// Skips coefficients of blocks that are not needed: as many as have their codes within kBits bits.
struct SkipTable {
  static constexpr int kBits = 11;
  using Entry = uint16_t;  // byte 0: number of bits; 1: number of coefficients
  ORBBEC_HD static int length(Entry e) { return e & 255; }
  ORBBEC_HD static int advance(Entry e) { return e >> 8; }

  Entry entries[1 << kBits];

  void set(const CodeLengths& lengths) {
    uint8_t code_lengths[1 << kBits];
    std::memset(entries, 0, sizeof(entries));
    int code = 0, index = 0;
    for (int l = 1; l <= kBits; ++l, code <<= 1) {
      for (int i = 0; i < lengths.counts[l - 1]; ++i, ++code, ++index) {
        const int symbol = lengths.symbols[index], first = code << (kBits - l);
        const int advance = ends_block(symbol) ? kEndOfBlock : (symbol >> 4) + 1;
        const Entry e = static_cast<Entry>((l + (symbol & 15)) | advance << 8);
        for (int j = 0; j < 1 << (kBits - l); ++j) entries[first + j] = e;
        std::memset(code_lengths + first, l, size_t{1} << (kBits - l));
      }
    }
    for (int pass = 0; pass < 2; ++pass) join(code_lengths);
  }

 private:
  // Adds the codes that begin in the remaining bits.
  void join(uint8_t* code_lengths) {
    Entry joined[1 << kBits];
    uint8_t lengths[1 << kBits];
    for (int i = 0; i < 1 << kBits; ++i) {
      const Entry a = entries[i];
      const uint32_t rest = static_cast<uint32_t>(i) << length(a) & ((1u << kBits) - 1);
      const Entry b = entries[rest];
      const int further = advance(b) < kEndOfBlock ? advance(b) : advance(b) - kEndOfBlock;
      const bool fits = a != 0 && b != 0 && advance(a) < kEndOfBlock && length(a) < kBits &&
                        length(a) + code_lengths[rest] <= kBits &&
                        advance(a) + further <= kMaxAdvance;
      joined[i] = fits ? static_cast<Entry>(a + b) : a;
      lengths[i] = static_cast<uint8_t>(fits ? length(a) + code_lengths[rest] : code_lengths[i]);
    }
    std::memcpy(entries, joined, sizeof(entries));
    std::memcpy(code_lengths, lengths, sizeof(lengths));
  }
};

}  // namespace orbbec
