// Stable sorting of places by keys of 64 bits, digit after digit from the lowest, on the CPU. A
// digit that all keys share costs nothing: keys of 32 bits take three passes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace orbbec {

struct KeyedPlace {
  uint64_t key;
  int64_t place;
};

// Keys in the order of the numbers; -0 equals 0, and NaN is above all.
inline uint64_t sort_key(int64_t value) { return static_cast<uint64_t>(value) ^ (1ull << 63); }
inline uint64_t sort_key(float value) {
  if (value != value) return UINT32_MAX;
  value += 0.0f;
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits >> 31 ? ~bits : bits | (1u << 31);
}
inline uint64_t sort_key(double value) {
  if (value != value) return UINT64_MAX;
  value += 0.0;
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits >> 63 ? ~bits : bits | (1ull << 63);
}

inline void radix_sort(std::vector<KeyedPlace>& items) {
  constexpr int kBits = 11, kDigits = 6;  // 66 bits; the counts fit the first cache
  constexpr uint64_t kMask = (1u << kBits) - 1;
  std::array<std::array<int64_t, 1 << kBits>, kDigits> counts{};
  for (const KeyedPlace& item : items) {
    for (int d = 0; d < kDigits; ++d) ++counts[d][item.key >> (d * kBits) & kMask];
  }
  std::vector<KeyedPlace> sorted(items.size());
  for (int d = 0; d < kDigits && !items.empty(); ++d) {
    const auto digit = [d](const KeyedPlace& item) { return item.key >> (d * kBits) & kMask; };
    if (counts[d][digit(items[0])] == static_cast<int64_t>(items.size())) continue;
    int64_t before = 0;
    for (int64_t& count : counts[d]) before += std::exchange(count, before);
    for (const KeyedPlace& item : items) sorted[counts[d][digit(item)]++] = item;
    items.swap(sorted);
  }
}

// The places of the `count` values from the lowest to the highest, equal ones in their order.
template <class T>
void stable_argsort(const T* values, int64_t count, bool descending, int64_t* places) {
  std::vector<KeyedPlace> items(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = sort_key(values[i]);
    items[i] = {descending ? ~key : key, i};
  }
  radix_sort(items);
  for (int64_t i = 0; i < count; ++i) places[i] = items[i].place;
}

}  // namespace orbbec
