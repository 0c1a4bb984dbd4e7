// Huffman codes as the decoder of jpeg_planes looks them up. Included by units.h.
//
// Source: ITU-T T.81, annexes C and F.2.2.3.
#pragma once

#include "packed_scan.h"

namespace orbbec {

// The codes of a table: first `set` and `set_symbol` for each symbol, then `set_entry` for each
// entry. No content of `packed` makes any of them access memory out of bounds.
struct CodeLookup {
  static constexpr int kBits = 10, kEntries = 1 << kBits, kSymbols = 256;
  static constexpr uint32_t kNoCode = (kLongestCode + 1) << 8;

  uint16_t entries[kEntries];  // of codes of up to kBits bits: symbol | length << 8; others: 0
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

  ORBBEC_HD void set_entry(int i) {
    const uint32_t found = search(static_cast<uint32_t>(i) << (kLongestCode - kBits));
    entries[i] = static_cast<uint16_t>(found >> 8 <= kBits ? found : 0);
  }

  // The symbol of the code that begins the next 16 bits, and its length: symbol | length << 8. Bits
  // that match no code count as symbol 0 of 17 bits, as in libjpeg.
  ORBBEC_HD uint32_t find(uint32_t bits) const {
    const uint32_t entry = entries[bits >> (kLongestCode - kBits)];
    return entry != 0 ? entry : search(bits);
  }

 private:
  ORBBEC_HD uint32_t search(uint32_t bits) const {
    uint32_t shorter = 0;
    for (int i = 0; i < kLongestCode; ++i) shorter += bits >= limits[i];
    if (shorter == kLongestCode) return kNoCode;
    const uint32_t code = bits >> (kLongestCode - 1 - shorter);
    return symbols[(offsets[shorter] + code) & 255] | (shorter + 1) << 8;
  }
};

// The lookups of a scan: DC and AC; luma and chroma.
struct Lookups {
  CodeLookup of[2][2];

  ORBBEC_HD CodeLookup& at(int i) { return of[i / 2][i % 2]; }
};

}  // namespace orbbec
