// Decodes coefficients from the entropy-coded data of a JPEG. Included, below the target pragma, by
// decode_strips.h.
//
// Source: ITU-T T.81, annex F.2; F. Giesen, "Reading bits in far too many ways" (the bit buffer).
#pragma once

#include "codes.h"

namespace orbbec {
namespace {  // one copy per target

struct Bits {
  const uint8_t* next;
  uint64_t buffer = 0;  // the next bits, highest first
  // How many bits `next` is ahead, modulo 64. Of another width than the buffer, so that the
  // compiler does not combine the two into a vector.
  uint32_t ahead = 0;

  // Refills the buffer to at least 56 bits.
  ORBBEC_HD void fill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    buffer |= __builtin_bswap64(bytes) >> (ahead & 63);
    next += (~ahead & 63) >> 3;
    ahead |= 56;
  }
  // Drops as many bits as the lower 6 bits say: callers pass whole table entries, because shifts
  // ignore higher bits.
  ORBBEC_HD void drop(uint64_t bits) {
    buffer <<= bits & 63;
    ahead -= static_cast<uint32_t>(bits);
  }
  ORBBEC_HD int look(int bits) const { return static_cast<int>(buffer >> (64 - bits)); }
  ORBBEC_HD int take(int bits) {
    const int value = static_cast<int>(buffer >> 1 >> (63 - bits));
    drop(static_cast<uint64_t>(bits));
    return value;
  }
  // Whether bits past `end` were consumed.
  bool is_past(const uint8_t* end) const { return 8 * (next - end) > (ahead & 63); }
  // The state `bits` earlier.
  Bits rewound(int bits) const {
    const int unread = static_cast<int>(ahead & 63) + bits, bytes = (unread + 7) / 8;
    Bits result{next - bytes};
    result.fill();
    result.drop(static_cast<uint64_t>(8 * bytes - unread));
    return result;
  }
};

// Decodes a symbol bit by bit. 17 bits that match no code count as symbol 0, as in libjpeg.
__attribute__((noinline)) int symbol_of(const Codes& codes, Bits& bits) {
  for (int length = 1; length <= kLongestCode; ++length) {
    const int code = bits.look(length);
    if (code <= codes.last[length]) {
      bits.drop(length);
      return codes.symbols[codes.offset[length] + code];
    }
  }
  bits.drop(kLongestCode + 1);
  return 0;
}

// The zigzag order, followed by indices for what is written past the last coefficient.
struct CellIndices {
  uint8_t of[2 * kCells + kMaxAdvance + 32];
  constexpr CellIndices() : of() {
    for (int i = 0; i < static_cast<int>(sizeof(of)); ++i) of[i] = i < kCells ? kZigzag[i] : kCells;
  }
};
constexpr CellIndices kCellIndices;

// A block in row order, padded for writes past the last coefficient.
struct alignas(32) Block {
  int16_t cells[kCells + 16];

  ORBBEC_HD void clear() {
    typedef int64_t Sixteen __attribute__((vector_size(16)));
    const Sixteen zeros{};
    for (int i = 0; i < kCells; i += 8) std::memcpy(cells + i, &zeros, sizeof(zeros));
  }
};

// The bits after a code, and the index of the next coefficient: kCells or more at the end of the
// block.
struct Step {
  Bits bits;
  int k;
};

// Decodes one AC code and its number; an index past the end counts as the last coefficient, as in
// libjpeg. Bits are passed by value, so that those of the caller stay in registers.
__attribute__((noinline)) Step read_one(const Codes& codes, Step at, int16_t* cells) {
  at.bits.fill();
  const int symbol = symbol_of(codes, at.bits);
  if (ends_block(symbol)) return {at.bits, at.k + kEndOfBlock};
  at.k = std::min(at.k + (symbol >> 4), kCells - 1);
  const int size = symbol & 15, number = extended(at.bits.take(size), size);
  if (cells != nullptr) cells[kZigzag[at.k]] = static_cast<int16_t>(number);
  at.bits.fill();
  return {at.bits, at.k + 1};
}

// Decodes the rest of a block, code by code.
__attribute__((noinline)) Step read_rest(const Codes& codes, Step at, int16_t* cells) {
  while (at.k < kCells) at = read_one(codes, at, cells);
  return at;
}

ORBBEC_HD bool ends_well(int k) {
  return k == kCells || (k >= kEndOfBlock && k < kEndOfBlock + kCells);
}

// A DC difference.
ORBBEC_HD int read_dc(const DcTable& table, Bits& bits) {
  bits.fill();
  const DcTable::Entry e = table.entries[bits.look(DcTable::kBits)];
  int size = DcTable::number(e);
  if (e != 0) {
    bits.drop(e);
    if (__builtin_expect((e & DcTable::kLonger) == 0, 1)) return size;
  } else {
    Bits others = bits;
    size = symbol_of(table.codes, others);
    bits = others;
  }
  return extended(bits.take(size), size);
}

// Decodes AC codes to the end of a block. take(bits, k) consumes a table entry and returns its
// number of bits, modulo 64, or 0 if a code must be decoded alone. An entry has at most 26 bits, so
// 56 are enough for two. Returns the index after the last coefficient, plus kEndOfBlock if a code
// ended the block.
template <class Take>
ORBBEC_HD int read_block(const Codes& codes, Bits& bits, int16_t* cells, const Take& take) {
  uint64_t k = 1, before = 1, length = 0;
  const auto step = [&]() __attribute__((always_inline)) {
    before = k;
    length = take(bits, k);
    if (__builtin_expect(length == 0, 0)) {
      const Step at = read_one(codes, {bits, static_cast<int>(k)}, cells);
      bits = at.bits;
      k = static_cast<uint64_t>(at.k);
    }
    return k < kCells;
  };
  do bits.fill();
  while (step() && step());
  if (__builtin_expect(ends_well(static_cast<int>(k)), 1)) return static_cast<int>(k);
  // The last entry had codes of the next block, or a number past the last coefficient.
  const Step at = read_rest(
      codes, {bits.rewound(static_cast<int>(length & 63)), static_cast<int>(before)}, cells);
  bits = at.bits;
  return at.k;
}

// The AC coefficients of a block of zeros.
ORBBEC_HD int read_ac(const AcTable& table, Bits& from, int16_t* cells) {
  return read_block(table.codes, from, cells, [&](Bits& bits, uint64_t& k) -> uint64_t {
    const AcTable::Entry e = table.entries[bits.look(AcTable::kBits)];
    const uint64_t advance = AcTable::advance(e);
    if (__builtin_expect(advance != 0, 1)) {
      cells[kCellIndices.of[k + advance - 1]] = AcTable::second(e);
      cells[kCellIndices.of[k + AcTable::zeros(e)]] = AcTable::first(e);
      k += advance;
      bits.drop(e);
      return e;
    }
    if (e == 0) return 0;
    const int size = static_cast<int>(AcTable::length(e));
    bits.drop(AcTable::code_length(e));
    k += AcTable::zeros(e);
    cells[kCellIndices.of[k++]] = static_cast<int16_t>(extended(bits.take(size), size));
    return AcTable::code_length(e) + static_cast<uint64_t>(size);
  });
}

// The same without storing them.
ORBBEC_HD int skip_ac(const SkipTable& table, const Codes& codes, Bits& from) {
  return read_block(codes, from, nullptr, [&](Bits& bits, uint64_t& k) -> uint64_t {
    const SkipTable::Entry e = table.entries[bits.look(SkipTable::kBits)];
    k += SkipTable::advance(e);
    bits.drop(e);
    return e;
  });
}

}  // namespace
}  // namespace orbbec
