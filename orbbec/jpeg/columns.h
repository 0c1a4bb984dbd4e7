// The columns of one block, or of two adjacent blocks, as compiler vectors with the members of
// OneColumn. Included, below the target pragma, by jpeg_strips.h and columns_*.h.
#pragma once

#include "jpeg.h"

namespace orbbec {
namespace {  // one copy per target

struct Vectors8 {
  static constexpr int kBlocks = 1;
  typedef int V __attribute__((vector_size(32)));
  typedef float F __attribute__((vector_size(32)));
  typedef uint8_t Bytes __attribute__((vector_size(8)));
};
struct Vectors16 {
  static constexpr int kBlocks = 2;
  typedef int V __attribute__((vector_size(64)));
  typedef float F __attribute__((vector_size(64)));
  typedef uint8_t Bytes __attribute__((vector_size(16)));
};

template <class Vectors>
struct ColumnsOf {
  static constexpr int kBlocks = Vectors::kBlocks, kLanes = kBlocks * kBlockSide;
  using V = typename Vectors::V;
  using Sum = V;
  using F = typename Vectors::F;
  using Bytes = typename Vectors::Bytes;
  struct Pair {
    V a, b;
  };

  ORBBEC_HD static Pair pair(const V& a, const V& b) { return {a, b}; }
  template <int kA, int kB>
  ORBBEC_HD static V sum(const Pair& pair) {
    return pair.a * kA + pair.b * kB;
  }
  ORBBEC_HD static F to_float(const V& value) { return __builtin_convertvector(value, F); }
  ORBBEC_HD static V truncate(const F& value) { return __builtin_convertvector(value, V); }

  ORBBEC_HD static V to_byte(const V& value) {
    const V positive = value < 0 ? V{} : value;
    return positive > 255 ? V{} + 255 : positive;
  }
  ORBBEC_HD static V load_bytes(const uint8_t* from) {
    Bytes bytes;
    memcpy(&bytes, from, sizeof(bytes));
    return __builtin_convertvector(bytes, V);
  }
  ORBBEC_HD static void store_bytes(uint8_t* to, const V& value) {
    const Bytes bytes = __builtin_convertvector(value, Bytes);
    memcpy(to, &bytes, sizeof(bytes));
  }

  // A row of a quantization table, for each block.
  ORBBEC_HD static V load(const int* row) {
    V value;
    for (int b = 0; b < kBlocks; ++b) memcpy(reinterpret_cast<char*>(&value) + 32 * b, row, 32);
    return value;
  }
  ORBBEC_HD static F load(const float* row) {
    F value;
    for (int b = 0; b < kBlocks; ++b) memcpy(reinterpret_cast<char*>(&value) + 32 * b, row, 32);
    return value;
  }
};

// Transposes neighbors, pairs of neighbors, halves.
struct Transpose8 {
  template <class V>
  ORBBEC_HD void operator()(V (&v)[kBlockSide]) const {
    V ones[8], twos[8];
    for (int i = 0; i < 8; i += 2) {
      ones[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      ones[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 2; ++j) {
        const V a = ones[i + j], b = ones[i + 2 + j];
        twos[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        twos[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
      }
    }
    for (int i = 0; i < 4; ++i) {
      v[i] = __builtin_shufflevector(twos[i], twos[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      v[i + 4] = __builtin_shufflevector(twos[i], twos[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
  }
};

struct ScalarColumns : ColumnsOf<Vectors8> {
  static constexpr Transpose8 transpose{};
};

}  // namespace
}  // namespace orbbec
