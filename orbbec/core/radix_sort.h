// Stable sorting of places by keys of 64 bits, digit after digit from the lowest, on CPU threads. A
// digit that all keys share costs nothing: keys of 32 bits take three passes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "executor_cpu.h"

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

// Items in shares that threads take: each share counts its digits, then moves its items to where
// the shares before it end, so that the order is that of one thread.
class RadixSort {
 public:
  RadixSort(std::vector<KeyedPlace>& items, const ParallelFor& parallel)
      : items_(items), sorted_(items.size()), parallel_(parallel) {
    const int64_t count = static_cast<int64_t>(items.size());
    shares_ = count / kItemsPerShare < 1         ? 1
              : count / kItemsPerShare > kShares ? kShares
                                                 : count / kItemsPerShare;
    counts_.resize(shares_);
  }

  void run() {
    const uint64_t differing = differing_bits();
    for (int shift = 0; shift < 64; shift += kBits) {
      if ((differing >> shift & kMask) != 0) sort_by_digit(shift);
    }
  }

 private:
  static constexpr int kBits = 11;  // the counts of a share fit the first cache
  static constexpr uint64_t kMask = (1u << kBits) - 1;
  static constexpr int64_t kShares = 8, kItemsPerShare = 2048;
  using Counts = std::array<int64_t, 1 << kBits>;

  // body(share, begin, end) for the items of each share.
  template <class Body>
  void for_each_share(const Body& body) const {
    const int64_t count = static_cast<int64_t>(items_.size());
    parallel_(shares_, 1, [&](int64_t first, int64_t last) {
      for (int64_t s = first; s < last; ++s) {
        body(s, s * count / shares_, (s + 1) * count / shares_);
      }
    });
  }

  uint64_t differing_bits() const {
    std::atomic<uint64_t> differing{0};
    for_each_share([&](int64_t, int64_t begin, int64_t end) {
      uint64_t own = 0;
      for (int64_t i = begin; i < end; ++i) own |= items_[i].key ^ items_[0].key;
      differing |= own;
    });
    return differing;
  }

  void sort_by_digit(int shift) {
    for_each_share([&](int64_t share, int64_t begin, int64_t end) {
      counts_[share].fill(0);
      for (int64_t i = begin; i < end; ++i) ++counts_[share][items_[i].key >> shift & kMask];
    });
    int64_t before = 0;
    for (uint64_t digit = 0; digit <= kMask; ++digit) {
      for (Counts& counts : counts_) before += std::exchange(counts[digit], before);
    }
    for_each_share([&](int64_t share, int64_t begin, int64_t end) {
      Counts& next = counts_[share];
      for (int64_t i = begin; i < end; ++i) {
        sorted_[next[items_[i].key >> shift & kMask]++] = items_[i];
      }
    });
    items_.swap(sorted_);
  }

  std::vector<KeyedPlace>& items_;
  std::vector<KeyedPlace> sorted_;
  const ParallelFor& parallel_;
  int64_t shares_;
  std::vector<Counts> counts_;
};

// The places of the `count` values from the lowest to the highest, equal ones in their order.
template <class T>
void stable_argsort(const T* values, int64_t count, bool descending, int64_t* places,
                    const ParallelFor& parallel) {
  std::vector<KeyedPlace> items(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = sort_key(values[i]);
    items[i] = {descending ? ~key : key, i};
  }
  RadixSort(items, parallel).run();
  for (int64_t i = 0; i < count; ++i) places[i] = items[i].place;
}

}  // namespace orbbec
