// Columns of a block, or eight pixels, as compiler vectors: 16-bit numbers with 32-bit sums.
// Included by decode_cpu.cpp.
#pragma once

#include "decode_strips.h"

namespace orbbec {
namespace {

struct ScalarShorts {
  static constexpr int kBlocks = 1, kLanes = kBlockSide;
  typedef int Sum __attribute__((vector_size(32)));
  typedef uint16_t Words __attribute__((vector_size(16)));  // unsigned, so that sums may wrap
  typedef int16_t Signed __attribute__((vector_size(16)));
  typedef uint8_t Bytes __attribute__((vector_size(8)));

  struct V {
    Words words;

    V() = default;
    explicit V(const Words& value) : words(value) {}
    V(const Sum& sum) {
      const Sum low = sum < -32768 ? Sum{} - 32768 : sum;
      words = (Words) __builtin_convertvector(low > 32767 ? Sum{} + 32767 : low, Signed);
    }

    Sum wide() const { return __builtin_convertvector((Signed)words, Sum); }
    friend V operator+(const V& a, const V& b) { return V(a.words + b.words); }
    friend V operator-(const V& a, const V& b) { return V(a.words - b.words); }
    friend V operator-(const V& a, int b) { return V(a.words - static_cast<uint16_t>(b)); }
    friend Sum operator*(const V& a, int power) { return a.wide() * power; }
  };
  struct Pair {
    Sum a, b;
  };

  static Pair pair(const V& a, const V& b) { return {a.wide(), b.wide()}; }
  template <int kA, int kB>
  static Sum sum(const Pair& pair) {
    return pair.a * kA + pair.b * kB;
  }
  static V to_byte(const V& value) { return value; }  // the store saturates

  static V load_bytes(const uint8_t* from) {
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof(bytes));
    return V(__builtin_convertvector(bytes, Words));
  }

  // Row y times the quantization steps.
  static V load_row(const Pending (&blocks)[kBlocks], int y) {
    Words cells, steps;
    std::memcpy(&cells, blocks[0].cells + y * kBlockSide, sizeof(cells));
    std::memcpy(&steps, blocks[0].steps + y * kBlockSide, sizeof(steps));
    return V(cells * steps);
  }

  // Whether a number times 4 overflows 16 bits.
  static bool is_large(const V& row) {
    const Words positive = row.words + (1 << 13);
    uint64_t halves[2];
    std::memcpy(halves, &positive, sizeof(halves));
    return ((halves[0] | halves[1]) & 0xc000c000c000c000) != 0;
  }

  static void store_rows(const Pending (&blocks)[kBlocks], const V (&v)[kBlockSide]) {
    for (int y = 0; y < kBlockSide; ++y) {
      const Bytes bytes = bytes_of(v[y].wide() + 128);
      std::memcpy(blocks[0].to + y * blocks[0].stride, &bytes, sizeof(bytes));
    }
  }

  // Transposes: neighbors, pairs of neighbors, halves.
  static void transpose(V (&v)[kBlockSide]) {
    Words ones[8], twos[8];
    for (int i = 0; i < 8; i += 2) {
      const Words a = v[i].words, b = v[i + 1].words;
      ones[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      ones[i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 2; ++j) {
        const Words a = ones[i + j], b = ones[i + 2 + j];
        twos[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 2, 3, 10, 11);
        twos[i + 2 * j + 1] = __builtin_shufflevector(a, b, 4, 5, 12, 13, 6, 7, 14, 15);
      }
    }
    for (int i = 0; i < 4; ++i) {
      const Words a = twos[i], b = twos[i + 4];
      v[2 * i] = V(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11));
      v[2 * i + 1] = V(__builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15));
    }
  }

  static void store_colors(uint8_t* to, const Color<V>& color) {
    const Bytes red = bytes_of(color.red.wide()), green = bytes_of(color.green.wide()),
                blue = bytes_of(color.blue.wide());
    for (int i = 0; i < kLanes; ++i, to += 3) {
      to[0] = red[i];
      to[1] = green[i];
      to[2] = blue[i];
    }
  }

 private:
  static Bytes bytes_of(const Sum& sum) {
    const Sum positive = sum < 0 ? Sum{} : sum;
    return __builtin_convertvector(positive > 255 ? Sum{} + 255 : positive, Bytes);
  }
};

}  // namespace
}  // namespace orbbec
