// The passes of gaussian_blur over bytes in 16-bit lanes. Integer sums do not depend on their
// order. Included where the vectors of `Simd` are available.
#pragma once

#include "strips.h"

namespace orbbec {
namespace {

template <class Simd>
struct BytePasses {
  using Vector = typename Simd::Vector;
  using Value = uint8_t;
  using Number = uint16_t;
  using Row = uint16_t;
  static constexpr int kLanes = Simd::kLanes;
  static constexpr int kBlock = 4;        // vectors whose sums stay in registers
  static constexpr int kRowElements = 2;  // of a row and of the previous one
  static constexpr bool kRowsAreAlone = false;
  static constexpr int kBatch = 1, kRows = 1;
  // Of the rows of a strip: partly in the L2 cache, since whole rows are read from memory faster
  // than pieces.
  static constexpr int kCacheBytes = 40 << 10;
  static constexpr int kSigned = 0x8000;  // offset that makes a 16-bit sum signed

  GaussianRule<uint8_t> rule;
  Window window;
  int group;
  uint16_t before[kStripValues] = {};  // sums of the previous row
  std::vector<int> column_taps;        // in pairs: of rows i - 1 and i, for each second i

  BytePasses(const GaussianRule<uint8_t>& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {
    for (int i = 1; i < window.height; i += 2)
      column_taps.push_back(tap(0, i - 1) | tap(0, i) << 16);
    column_taps.push_back(tap(0, window.height - 1) << 16);
  }

  int tap(int axis, int i) const {
    return rule.tap(axis, axis == 0 ? window.height : window.width, i);
  }

  // Taps sum to 256, so the sum of a row is below 2^16.
  void horizontal(const uint16_t* const* lines, uint16_t* const* rows, int count) {
    const uint16_t* const line = *lines;
    uint16_t* const row = *rows;
    const int middle = window.width / 2;
    for (int v = 0; v < count; v += kBlock * kLanes) {
      Vector sum[kBlock];
      const Vector center = Simd::all_16(tap(1, middle));
      for (int b = 0; b < kBlock; ++b) {
        sum[b] = Simd::multiply_16(Simd::load(line + v + b * kLanes + middle * group), center);
      }
      const uint16_t* left = line + v;
      const uint16_t* right = line + v + 2 * middle * group;
      for (int i = 0; i < middle; ++i, left += group, right -= group) {
        const Vector factor = Simd::all_16(tap(1, i));
        for (int b = 0; b < kBlock; ++b) {
          const Vector pair =
              Simd::add_16(Simd::load(left + b * kLanes), Simd::load(right + b * kLanes));
          sum[b] = Simd::add_16(sum[b], Simd::multiply_16(pair, factor));
        }
      }
      for (int b = 0; b < kBlock; ++b) keep(row, v + b * kLanes, sum[b]);
    }
  }

  void keep(uint16_t* row, int v, Vector sum) {
    const Vector now = Simd::exclusive_or(sum, Simd::all_16(kSigned));
    const Vector earlier = Simd::load(before + v);
    Simd::store(row + 2 * v, Simd::low_pairs(earlier, now));
    Simd::store(row + 2 * v + kLanes, Simd::high_pairs(earlier, now));
    Simd::store(before + v, now);
  }

  void vertical(const uint16_t* const* rows, const ValueIndex&, uint8_t* out, int count, int) {
    constexpr int kHalf = kBlock / 2;
    const int pairs = static_cast<int>(column_taps.size());
    const Vector start = Simd::all_32(kSigned * GaussianRule<uint8_t>::kWhole + 0x8000);
    for (int v = 0; v < count; v += kHalf * kLanes) {
      Vector sum[kBlock];
      for (int b = 0; b < kBlock; ++b) sum[b] = start;
      for (int i = 0; i < pairs; ++i) {
        const uint16_t* const row = rows[std::min(2 * i + 1, window.height - 1)] + 2 * v;
        const Vector taps = Simd::all_32(column_taps[i]);
        for (int b = 0; b < kBlock; ++b) {
          sum[b] = Simd::add_32(sum[b], Simd::multiply_pairs(Simd::load(row + b * kLanes), taps));
        }
      }
      for (int b = 0; b < kHalf; ++b) {
        Simd::store_bytes(out + v + b * kLanes, sum[2 * b], sum[2 * b + 1]);
      }
    }
  }
};

}  // namespace
}  // namespace orbbec
