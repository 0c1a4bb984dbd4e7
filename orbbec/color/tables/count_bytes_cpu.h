// Histograms of contiguous bytes. Included by tables_cpu.cpp and clahe_cpu.cpp.
#pragma once

#include <cstring>

#include "tables.h"

namespace orbbec {

constexpr int kCopies = 8;  // of a histogram: runs of equal pixels would serialize on one counter
// Padded: a load waits for a store to an address with the same low 12 bits.
using Counts = uint32_t[kCopies][kLevels + 16];

ORBBEC_HD void count_bytes(const uint8_t* bytes, int64_t count, Counts& counts) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    memcpy(&eight, bytes + i, sizeof(eight));
    for (int b = 0; b < 8; ++b) ++counts[b][eight >> (8 * b) & 255];
  }
  for (; i < count; ++i) ++counts[0][bytes[i]];
}

ORBBEC_HD int64_t count_of(const Counts& counts, int level) {
  int64_t sum = 0;
  for (const auto& copy : counts) sum += copy[level];
  return sum;
}

}  // namespace orbbec
