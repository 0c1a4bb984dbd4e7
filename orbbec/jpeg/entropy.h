// Coefficients out of the entropy-coded data of a JPEG. Included, below the target, by
// decode_strips.h.
//
// Source: ITU-T T.81, annex F.2; F. Giesen, "Reading bits in far too many ways" (the bit buffer).
#pragma once

#include "codes.h"

namespace orbbec {
namespace {  // each file compiles its own, for its kind of machine

struct Bits {
  const uint8_t* next;
  uint64_t buffer = 0;  // the next bits, from the highest on
  // Modulo 64: how many of them `next` has gone past. Of another width than the buffer, lest the
  // compiler makes a vector of the two.
  uint32_t held = 0;

  // Makes them 56 or more.
  ORBBEC_HD void fill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    buffer |= __builtin_bswap64(bytes) >> (held & 63);
    next += (~held & 63) >> 3;
    held |= 56;
  }
  // Drops as many as the lower 6 bits say: whole entries of tables are given, since processors look
  // at no others in a shift.
  ORBBEC_HD void drop(uint64_t bits) {
    buffer <<= bits & 63;
    held -= static_cast<uint32_t>(bits);
  }
  ORBBEC_HD int look(int bits) const { return static_cast<int>(buffer >> (64 - bits)); }
  ORBBEC_HD int take(int bits) {
    const int value = static_cast<int>(buffer >> 1 >> (63 - bits));
    drop(static_cast<uint64_t>(bits));
    return value;
  }
  // Whether some were taken past `end`.
  bool is_past(const uint8_t* end) const { return 8 * (next - end) > (held & 63); }
  // As they were `bits` ago.
  Bits rewound(int bits) const {
    const int unread = static_cast<int>(held & 63) + bits, bytes = (unread + 7) / 8;
    Bits result{next - bytes};
    result.fill();
    result.drop(static_cast<uint64_t>(8 * bytes - unread));
    return result;
  }
};

// The symbol of a code, bit by bit. 17 bits that are no code are taken for a 0, as libjpeg does.
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

// Places of coefficients in their order of coding, and of what is written past the last.
struct Places {
  uint8_t of[2 * kCells + kMostAdvance + 32];
  constexpr Places() : of() {
    for (int i = 0; i < static_cast<int>(sizeof(of)); ++i) of[i] = i < kCells ? kZigzag[i] : kCells;
  }
};
constexpr Places kPlaces;

// One block row by row, and room for what is written past the last coefficient.
struct alignas(32) Block {
  int16_t cells[kCells + 16];

  ORBBEC_HD void clear() {
    typedef int64_t Sixteen __attribute__((vector_size(16)));
    const Sixteen zeros{};
    for (int i = 0; i < kCells; i += 8) std::memcpy(cells + i, &zeros, sizeof(zeros));
  }
};

// Bits after a code, and the number of the next coefficient: kCells or more where the block ends.
struct Step {
  Bits bits;
  int k;
};

// One AC code and its number, which past the last coefficient is taken for the last, as libjpeg
// does. Bits are passed by value: those of a caller stay in registers.
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

// What is left of a block, code by code.
__attribute__((noinline)) Step read_rest(const Codes& codes, Step at, int16_t* cells) {
  while (at.k < kCells) at = read_one(codes, at, cells);
  return at;
}

ORBBEC_HD bool ends_well(int k) {
  return k == kCells || (k >= kEndOfBlock && k < kEndOfBlock + kCells);
}

// A difference of DC.
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

// Reads AC codes up to the end of a block. take(bits, k) takes those of an entry of a table and
// gives how many bits they were, modulo 64; or 0, where one code is to be read by itself. An entry
// has at most 26 bits, so that 56 are enough for two. Gives the number of the coefficient after the
// last, plus kEndOfBlock where a code ended the block.
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

// The coefficients but the first of a block of zeros.
ORBBEC_HD int read_ac(const AcTable& table, Bits& from, int16_t* cells) {
  return read_block(table.codes, from, cells, [&](Bits& bits, uint64_t& k) -> uint64_t {
    const AcTable::Entry e = table.entries[bits.look(AcTable::kBits)];
    const uint64_t advance = AcTable::advance(e);
    if (__builtin_expect(advance != 0, 1)) {
      cells[kPlaces.of[k + advance - 1]] = AcTable::second(e);
      cells[kPlaces.of[k + AcTable::zeros(e)]] = AcTable::first(e);
      k += advance;
      bits.drop(e);
      return e;
    }
    if (e == 0) return 0;
    const int size = static_cast<int>(AcTable::length(e));
    bits.drop(AcTable::code_length(e));
    k += AcTable::zeros(e);
    cells[kPlaces.of[k++]] = static_cast<int16_t>(extended(bits.take(size), size));
    return AcTable::code_length(e) + static_cast<uint64_t>(size);
  });
}

// The same without keeping them.
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
