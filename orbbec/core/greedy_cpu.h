// Greedy suppression on CPU threads. Included by *_cpu.cpp.
#pragma once

#include <vector>

#include "executor_cpu.h"
#include "greedy.h"

namespace orbbec {

// Items that are compared with all those kept before by several threads, then with each other by
// one: 1/40 of the comparisons of 20,000 items of which half stay.
constexpr int64_t kItemsPerRound = 256;
constexpr int64_t kComparisonsPerTask = 400000;  // about 0.1 ms on vectors

// The kept items of a rule that has no faster way to search them.
template <class Rule>
class KeptItems {
 public:
  explicit KeptItems(const Rule& rule) : rule_(rule) {}

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  void clear() { items_.clear(); }
  void append(const typename Rule::Item& item) { items_.push_back(item); }

  // The first from `begin` on that suppresses the item; size() if none does.
  int64_t find(int64_t begin, const typename Rule::Item& item) const {
    int64_t i = begin;
    while (i < size() && !rule_.suppresses(items_[i], item)) ++i;
    return i;
  }

 private:
  Rule rule_;
  std::vector<typename Rule::Item> items_;
};

// One group: the places [begin, end).
template <class Rule, class Kept>
class GreedyGroup {
 public:
  GreedyGroup(const Rule& rule, int64_t* keepers) : rule_(rule), keepers_(keepers), kept_(rule) {}

  void run(int64_t begin, int64_t end, const ParallelFor& parallel) {
    kept_.clear();
    places_.clear();
    for (int64_t first = begin; first < end; first += kItemsPerRound) {
      const int64_t last = first + kItemsPerRound < end ? first + kItemsPerRound : end;
      const int64_t before = kept_.size();
      const int64_t grain = kComparisonsPerTask / (before + 1) + 1;
      parallel(last - first, grain, [&](int64_t from, int64_t to) {
        for (int64_t i = first + from; i < first + to; ++i) keepers_[i] = search(0, i);
      });
      for (int64_t i = first; i < last; ++i) decide(before, i);
    }
  }

 private:
  static constexpr int64_t kNone = -1;

  int64_t search(int64_t begin, int64_t i) const {
    const int64_t found = kept_.find(begin, rule_.item(i));
    return found < kept_.size() ? places_[found] : kNone;
  }

  void decide(int64_t before, int64_t i) {
    if (keepers_[i] == kNone) keepers_[i] = search(before, i);
    if (keepers_[i] != kNone) return;
    keepers_[i] = i;
    kept_.append(rule_.item(i));
    places_.push_back(i);
  }

  Rule rule_;
  int64_t* keepers_;
  Kept kept_;
  std::vector<int64_t> places_;
};

// Where each group begins, and the end.
inline std::vector<int64_t> group_bounds(const GreedyArguments& a) {
  std::vector<int64_t> bounds{0};
  for (int64_t i = 1; a.groups != nullptr && i < a.count; ++i) {
    if (a.groups[i] != a.groups[i - 1]) bounds.push_back(i);
  }
  bounds.push_back(a.count);
  return bounds;
}

template <class Rule, class Kept = KeptItems<Rule>>
void greedy_cpu(const Rule& rule, const GreedyArguments& a, const ParallelFor& parallel) {
  if (a.count == 0) return;
  const std::vector<int64_t> bounds = group_bounds(a);
  const int64_t groups = static_cast<int64_t>(bounds.size()) - 1;
  int64_t largest = 0;
  for (int64_t g = 0; g < groups; ++g) {
    largest = bounds[g + 1] - bounds[g] > largest ? bounds[g + 1] - bounds[g] : largest;
  }
  const auto run_groups = [&](int64_t begin, int64_t end, const ParallelFor& within) {
    GreedyGroup<Rule, Kept> greedy(rule, a.keepers);
    for (int64_t g = begin; g < end; ++g) greedy.run(bounds[g], bounds[g + 1], within);
  };
  // Threads share the groups, or the comparisons of a group that is most of the work.
  if (2 * largest > a.count) return run_groups(0, groups, parallel);
  const ParallelFor alone = [](int64_t count, int64_t, const RangeBody& body) { body(0, count); };
  const int64_t grain = kComparisonsPerTask / (largest * largest) + 1;
  parallel(groups, grain, [&](int64_t begin, int64_t end) { run_groups(begin, end, alone); });
}

}  // namespace orbbec
