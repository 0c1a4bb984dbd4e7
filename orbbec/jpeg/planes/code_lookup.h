// Huffman codes as the decoder of jpeg_planes looks them up. Included by units.h.
//
// Source: ITU-T T.81, annexes C and F.2.2.3.
#pragma once

#include "packed_scan.h"

namespace orbbec {

// What a code stands for, in 16 bits: its own bits and those of its number together, the bits of
// the number, and how far the index of the coefficient advances: kCells at the end of a block.
struct Symbol {
  static constexpr uint32_t kNoCode = 1 << 16;  // further bit: the bits are no code

  uint32_t entry;

  ORBBEC_HD static Symbol of(int symbol, int length, bool is_dc) {
    const int size = symbol & 15;
    const int advance = is_dc ? 1 : ends_block(symbol) ? kCells : (symbol >> 4) + 1;
    return {static_cast<uint32_t>((length + size) | size << 5 | advance << 9)};
  }

  ORBBEC_HD int bits() const { return static_cast<int>(entry & 31); }
  ORBBEC_HD int size() const { return static_cast<int>(entry >> 5 & 15); }
  ORBBEC_HD int advance() const { return static_cast<int>(entry >> 9 & 127); }
  ORBBEC_HD bool is_code() const { return entry < kNoCode; }
  // The number in the 32 bits that the code begins.
  ORBBEC_HD int number(uint32_t window) const {
    return extended(static_cast<int>(window << (bits() - size()) >> 1 >> (31 - size())), size());
  }
};

// The codes of a table: first `set` and `set_symbol` for each symbol, then `set_entry` for each
// entry. No content of `packed` makes any of them access memory out of bounds.
struct CodeLookup {
  static constexpr int kBits = 10, kEntries = 1 << kBits, kSymbols = 256;

  uint16_t entries[kEntries];  // of codes of up to kBits bits; others: 0
  // Codes of up to `length` bits, followed by zeros to 16 bits, are below limits[length - 1].
  uint32_t limits[kLongestCode];
  // Added to a code of `length` bits, offsets[length - 1] gives its symbol's index.
  uint32_t offsets[kLongestCode];
  uint8_t symbols[kSymbols];

  ORBBEC_HD void set(const PackedCodes& packed) {
    uint32_t code = 0, index = 0;
    for (int i = 0; i < kLongestCode; ++i) {
      offsets[i] = index - 2 * code;
      code = 2 * code + packed.counts[i];
      index += packed.counts[i];
      limits[i] = code << (kLongestCode - 1 - i);
    }
  }

  ORBBEC_HD void set_symbol(const PackedCodes& packed, int i) { symbols[i] = packed.symbols[i]; }

  ORBBEC_HD void set_entry(int i, bool is_dc) {
    const uint32_t bits = static_cast<uint32_t>(i) << (kLongestCode - kBits);
    const bool is_short = bits < limits[kBits - 1];
    entries[i] = static_cast<uint16_t>(is_short ? search(bits, 0, is_dc).entry : 0);
  }

  // The symbol of the code that begins the next 16 bits. Bits that match no code count as symbol 0
  // of 17 bits, as in libjpeg.
  ORBBEC_HD Symbol find(uint32_t bits, bool is_dc) const {
    const uint32_t entry = entries[bits >> (kLongestCode - kBits)];
    return entry != 0 ? Symbol{entry} : search(bits, kBits, is_dc);
  }

 private:
  // The code has more than `least` bits.
  ORBBEC_HD Symbol search(uint32_t bits, int least, bool is_dc) const {
    int shorter = least;
    for (int i = least; i < kLongestCode; ++i) shorter += bits >= limits[i];
    if (shorter == kLongestCode) {
      return {Symbol::of(0, kLongestCode + 1, is_dc).entry | Symbol::kNoCode};
    }
    const uint32_t code = bits >> (kLongestCode - 1 - shorter);
    return Symbol::of(symbols[(offsets[shorter] + code) % kSymbols], shorter + 1, is_dc);
  }
};

// The lookups of a scan. And where coefficients are stored.
struct Lookups {
  static constexpr int kAc = 2;  // the first of AC

  CodeLookup of[4];           // DC of luma and chroma, AC of luma and chroma
  uint8_t positions[kCells];  // of zigzag indices in a block

  ORBBEC_HD void set_entry(int i, int entry) { of[i].set_entry(entry, i < kAc); }
};

}  // namespace orbbec
