// Stable sorting of indices by keys, digit by digit from the lowest, on the CPU. Digits that all
// keys have in common are skipped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace orbbec {

// Half as wide, and sorted in half the passes, where 32 bits hold the key.
template <class Key>
struct KeyedIndex {
  Key key, index;
};

// Keys in the order of the numbers; -0 equals 0, and NaN sorts last.
inline uint64_t sort_key(int64_t value) { return static_cast<uint64_t>(value) ^ (1ull << 63); }
inline uint32_t sort_key(float value) {
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

// For keys up to `largest`.
template <class Key>
void radix_sort(std::vector<KeyedIndex<Key>>& items, Key largest) {
  constexpr int kBits = 11, kMaxDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  constexpr Key kMask = (Key{1} << kBits) - 1;
  int digits = 0;
  while (digits < kMaxDigits && largest >> (digits * kBits) != 0) ++digits;
  std::array<std::array<Key, 1 << kBits>, kMaxDigits> counts{};  // each fits the L1 cache
  for (const KeyedIndex<Key>& item : items) {
    for (int d = 0; d < digits; ++d) ++counts[d][item.key >> (d * kBits) & kMask];
  }
  std::vector<KeyedIndex<Key>> sorted(items.size());
  for (int d = 0; d < digits; ++d) {
    const auto digit = [d](const KeyedIndex<Key>& item) { return item.key >> (d * kBits) & kMask; };
    if (counts[d][digit(items[0])] == items.size()) continue;
    Key before = 0;
    for (Key& count : counts[d]) before += std::exchange(count, before);
    for (const KeyedIndex<Key>& item : items) sorted[counts[d][digit(item)]++] = item;
    items.swap(sorted);
  }
}

template <class Key, class KeyOf>
void argsort_by_keys(int64_t count, const KeyOf& key_of, Key largest, bool descending,
                     int64_t* indices) {
  std::vector<KeyedIndex<Key>> items(count);
  for (int64_t i = 0; i < count; ++i) {
    const Key key = static_cast<Key>(key_of(i));
    items[i] = {descending ? static_cast<Key>(largest - key) : key, static_cast<Key>(i)};
  }
  radix_sort(items, largest);
  for (int64_t i = 0; i < count; ++i) indices[i] = static_cast<int64_t>(items[i].index);
}

// The indices of `count` values in ascending order; equal values keep their order.
template <class T>
void stable_argsort(const T* values, int64_t count, bool descending, int64_t* indices) {
  if (count == 0) return;
  uint64_t lowest = 0, range = std::is_same_v<T, float> ? UINT32_MAX : UINT64_MAX;  // of the keys
  if constexpr (std::is_integral_v<T>) {
    T least = values[0], most = values[0];
    for (int64_t i = 1; i < count; ++i) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    lowest = sort_key(least), range = sort_key(most) - lowest;
  }
  const auto key_of = [=](int64_t i) { return sort_key(values[i]) - lowest; };
  if (range <= UINT32_MAX && count <= UINT32_MAX) {
    argsort_by_keys(count, key_of, static_cast<uint32_t>(range), descending, indices);
  } else {
    argsort_by_keys(count, key_of, range, descending, indices);
  }
}

}  // namespace orbbec
