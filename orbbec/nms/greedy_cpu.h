// Greedy suppression on CPU threads. Included by *_cpu.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "../executors/executor_cpu.h"
#include "greedy.h"

namespace orbbec {

constexpr int64_t kItemsPerBlock = 256;
constexpr int64_t kItemsPerPass = 512;  // stays in the L1 cache while a block is compared with them
constexpr int64_t kComparisonsPerTask = 50000;  // about 12 us with vectors

// The kept items of a rule without a faster search. One thread appends while others search the
// earlier items.
template <class Rule>
class KeeperItems {
 public:
  static constexpr int64_t kSearchStep = 1;  // items that are searched together

  KeeperItems(const Rule& rule, int64_t capacity) : rule_(rule) { items_.reserve(capacity); }

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  void clear() { items_.clear(); }
  void append(const typename Rule::Item& item) { items_.push_back(item); }

  // The first item of [begin, end) that suppresses `item`; `end` if none does.
  int64_t find(int64_t begin, int64_t end, const typename Rule::Item& item) const {
    int64_t i = begin;
    while (i < end && !rule_.suppresses(items_[i], item)) ++i;
    return i;
  }

 private:
  Rule rule_;
  std::vector<typename Rule::Item> items_;
};

// One group: the ranks [begin, end), in blocks that threads take in order. A block is compared with
// the items kept so far while earlier blocks are still being decided, and is decided after them.
// The first undecided block never waits, so there is progress with any number of threads.
template <class Rule, class Items>
class GreedyGroup {
 public:
  GreedyGroup(const Rule& rule, int64_t* keepers, int64_t capacity)
      : rule_(rule), keepers_(keepers), items_(rule, capacity), indices_(capacity) {}

  void run(int64_t begin, int64_t end, const ParallelFor& parallel) {
    items_.clear();
    searchable_ = decided_ = 0;
    const int64_t blocks = (end - begin + kItemsPerBlock - 1) / kItemsPerBlock;
    const int64_t grain = 2 * kComparisonsPerTask / (kItemsPerBlock * (end - begin)) + 1;
    std::atomic<int64_t> taken{0};
    parallel(blocks, grain, [&](int64_t, int64_t) {
      for (int64_t block; (block = taken++) < blocks;) {
        const int64_t first = begin + block * kItemsPerBlock;
        run_block(block, first, std::min(first + kItemsPerBlock, end));
      }
    });
  }

 private:
  static constexpr int64_t kNone = -1;

  void run_block(int64_t block, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keepers_[i] = kNone;
    int64_t searched = 0;
    while (decided_ < block || searched < searchable_) {
      const int64_t to = std::min(searchable_.load(), searched + kItemsPerPass);
      if (to == searched) std::this_thread::yield();
      compare(begin, end, searched, to);
      searched = to;
    }
    decide(begin, end, searched);
    searchable_ = items_.size() / Items::kSearchStep * Items::kSearchStep;
    decided_ = block + 1;
  }

  // Against the kept items [from, to).
  void compare(int64_t begin, int64_t end, int64_t from, int64_t to) {
    for (int64_t i = begin; i < end; ++i) {
      if (keepers_[i] != kNone) continue;
      const int64_t found = items_.find(from, to, rule_.item(i));
      if (found < to) keepers_[i] = indices_[found];
    }
  }

  // Against the kept items from `from` on, including those that the block itself adds.
  void decide(int64_t begin, int64_t end, int64_t from) {
    for (int64_t i = begin; i < end; ++i) {
      compare(i, i + 1, from, items_.size());
      if (keepers_[i] != kNone) continue;
      keepers_[i] = indices_[items_.size()] = i;
      items_.append(rule_.item(i));
    }
  }

  Rule rule_;
  int64_t* keepers_;
  Items items_;                   // that are kept
  std::vector<int64_t> indices_;  // ranks of these
  // The number of kept items that other threads may search.
  alignas(kApart) std::atomic<int64_t> searchable_{0};
  std::atomic<int64_t> decided_{0};  // blocks
};

// The start of each group, and the end.
inline std::vector<int64_t> group_bounds(const GreedyArguments& a) {
  std::vector<int64_t> bounds{0};
  for (int64_t i = 1; a.groups != nullptr && i < a.count; ++i) {
    if (a.groups[i] != a.groups[i - 1]) bounds.push_back(i);
  }
  bounds.push_back(a.count);
  return bounds;
}

template <class Rule, class Items = KeeperItems<Rule>>
void greedy_cpu(const Rule& rule, const GreedyArguments& a, const ParallelFor& parallel) {
  if (a.count == 0) return;
  const std::vector<int64_t> bounds = group_bounds(a);
  const int64_t groups = static_cast<int64_t>(bounds.size()) - 1;
  int64_t largest = 0;
  for (int64_t g = 0; g < groups; ++g) largest = std::max(largest, bounds[g + 1] - bounds[g]);
  const auto run_groups = [&](int64_t begin, int64_t end, const ParallelFor& within) {
    GreedyGroup<Rule, Items> greedy(rule, a.keepers, largest);
    for (int64_t g = begin; g < end; ++g) greedy.run(bounds[g], bounds[g + 1], within);
  };
  // Threads split the groups, or the comparisons of one group that dominates the work.
  if (2 * largest > a.count) return run_groups(0, groups, parallel);
  const ParallelFor alone = [](int64_t count, int64_t, const RangeBody& body) { body(0, count); };
  const int64_t grain = kComparisonsPerTask / (largest * largest) + 1;
  parallel(groups, grain, [&](int64_t begin, int64_t end) { run_groups(begin, end, alone); });
}

}  // namespace orbbec
