// Medians of 7 x 7 and 9 x 9 windows of bytes by their bits, from the highest: a window's bits of
// one plane fit two or three words, and are counted at once. Included by median_cuda.cu.
#pragma once

#include "tiles_cuda.h"

namespace orbbec {

struct BitRows {
  static constexpr int kPlanes = 8, kBytesOfRow = 96;  // 64 columns, margins, alignment
  static constexpr int kWords = kBytesOfRow / 32 + 1;  // of a row of a plane; the last one is 0
  static constexpr int kWordsOfRow = kPlanes * kWords;

  uint32_t* words;  // [rows][kPlanes][kWords]

  // A thread makes words of 32 bits from as many bytes. `pitch` is kBytesOfRow at least.
  __device__ void fill(int rows, const uint8_t* bytes, int pitch) const {
    for (int i = threadIdx.x; i < rows * kWordsOfRow; i += kTileThreads) {
      const int y = i / kWordsOfRow, plane = i / kWords % kPlanes, word = i % kWords;
      uint32_t bits = 0;
      if (word + 1 < kWords) {
        const auto* const from = reinterpret_cast<const uint32_t*>(bytes + y * pitch) + 8 * word;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          // The bit of each of four bytes, brought together in the highest byte.
          bits |= ((from[k] >> plane & 0x01010101u) * 0x10204080u >> 28) << 4 * k;
        }
      }
      words[i] = bits;
    }
  }

  // store(y, x, median). A warp owns 32 columns of some rows; a thread slides down a column, and
  // keeps the bits of its window in registers.
  template <int kSide, class Store>
  __device__ void medians(int height, int width, int shift, const Store& store) const {
    constexpr int kBands = kTileThreads / kWarp / 2;
    const int warp = threadIdx.x / kWarp, of_band = (height + kBands - 1) / kBands;
    const int x = static_cast<int>(threadIdx.x % kWarp) + warp % 2 * kWarp;
    const int top = warp / 2 * of_band, end = at_most(top + of_band, height);
    if (x >= width) return;
    const uint32_t* const from = words + (x + shift) / 32;
    BitWindow<kSide> window;
    for (int row = top; row < end + kSide - 1; row += kSide) {
#pragma unroll
      for (int slot = 0; slot < kSide; ++slot) {
        const int y = row + slot;
        if (y >= end + kSide - 1) break;
        window.template put<kWords>(slot, from + y * kWordsOfRow, (x + shift) % 32);
        if (y - top >= kSide - 1) store(y - (kSide - 1), x, window.median());
      }
    }
  }

 private:
  // The bits of a window by plane. The order of rows does not matter: a new one takes the place of
  // the oldest.
  template <int kSide>
  struct BitWindow {
    static constexpr int kRowsOfWord = 32 / kSide;
    static constexpr int kWordsOfPlane = (kSide + kRowsOfWord - 1) / kRowsOfWord;
    static constexpr uint32_t kRow = (1u << kSide) - 1;
    uint32_t planes[kPlanes][kWordsOfPlane] = {};

    template <int kPitch>
    __device__ void put(int slot, const uint32_t* row, int position) {
      const int at = slot % kRowsOfWord * kSide;
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const uint32_t bits =
            __funnelshift_r(row[p * kPitch], row[p * kPitch + 1], position) & kRow;
        uint32_t& word = planes[p][slot / kRowsOfWord];
        word = (word & ~(kRow << at)) | bits << at;
      }
    }

    __device__ uint8_t median() const {
      uint32_t left[kWordsOfPlane];  // values that may still be the median
#pragma unroll
      for (int w = 0; w < kWordsOfPlane; ++w) left[w] = ~0u;
      // Bits beyond the window are 0: they count as values below all others.
      int rank = kSide * kSide / 2 + 32 * kWordsOfPlane - kSide * kSide;
      uint32_t median = 0;
#pragma unroll
      for (int p = kPlanes - 1; p >= 0; --p) {
        int zeros = 0;
#pragma unroll
        for (int w = 0; w < kWordsOfPlane; ++w) zeros += __popc(left[w] & ~planes[p][w]);
        const bool is_one = zeros <= rank;
        const uint32_t flip = is_one ? 0 : ~0u;
        rank -= is_one ? zeros : 0;
        median |= static_cast<uint32_t>(is_one) << p;
#pragma unroll
        for (int w = 0; w < kWordsOfPlane; ++w) left[w] &= planes[p][w] ^ flip;
      }
      return static_cast<uint8_t>(median);
    }
  };
};

}  // namespace orbbec
