// Greedy suppression on CPU threads. Included by *_cpu.cpp.
#pragma once

#include <atomic>
#include <vector>

#include "executor_cpu.h"
#include "greedy.h"

namespace orbbec {

constexpr int64_t kItemsPerRound = 512;
constexpr int64_t kItemsPerShare = 4;
constexpr int64_t kComparisonsPerTask = 50000;  // about 12 us on vectors

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

// One group: the places [begin, end), in rounds. While one thread decides a round, the others
// compare the items of the next with all those that were kept before it; shares of that are taken
// as threads come free, for one core may be slower than another.
template <class Rule, class Kept>
class GreedyGroup {
 public:
  GreedyGroup(const Rule& rule, int64_t* keepers)
      : rule_(rule), keepers_(keepers), kept_(rule), fresh_(rule) {}

  void run(int64_t begin, int64_t end, const ParallelFor& parallel) {
    kept_.clear();
    places_.clear();
    compared_ = 0;
    for (int64_t i = begin; i < round_end(begin, end); ++i) keepers_[i] = kNone;
    for (int64_t first = begin; first < end; first += kItemsPerRound) {
      const int64_t last = round_end(first, end);
      decide_and_compare(first, last, round_end(last, end), parallel);
      if (last == end) break;
      compared_ = kept_.size();
      keep_fresh();
    }
  }

 private:
  static constexpr int64_t kNone = -1;

  static int64_t round_end(int64_t first, int64_t end) {
    return first + kItemsPerRound < end ? first + kItemsPerRound : end;
  }

  // The round [first, last) and the next one, [last, next).
  void decide_and_compare(int64_t first, int64_t last, int64_t next, const ParallelFor& parallel) {
    const int64_t shares = (next - last + kItemsPerShare - 1) / kItemsPerShare;
    const int64_t grain = kComparisonsPerTask / (kItemsPerShare * kept_.size() + 1) + 1;
    std::atomic<int64_t> taken{0};
    parallel(1 + shares, grain, [&](int64_t, int64_t) {
      for (int64_t share; (share = taken++) <= shares;) {
        if (share == 0) {
          decide(first, last);
        } else {
          const int64_t from = last + (share - 1) * kItemsPerShare;
          compare(from, from + kItemsPerShare < next ? from + kItemsPerShare : next);
        }
      }
    });
  }

  void compare(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keepers_[i] = search(0, rule_.item(i));
  }

  void decide(int64_t begin, int64_t end) {
    fresh_.clear();
    fresh_places_.clear();
    for (int64_t i = begin; i < end; ++i) {
      const auto item = rule_.item(i);
      if (keepers_[i] == kNone) keepers_[i] = search(compared_, item);
      if (keepers_[i] != kNone) continue;
      const int64_t found = fresh_.find(0, item);
      keepers_[i] = found < fresh_.size() ? fresh_places_[found] : i;
      if (keepers_[i] != i) continue;
      fresh_.append(item);
      fresh_places_.push_back(i);
    }
  }

  int64_t search(int64_t begin, const typename Rule::Item& item) const {
    const int64_t found = kept_.find(begin, item);
    return found < kept_.size() ? places_[found] : kNone;
  }

  void keep_fresh() {
    for (const int64_t place : fresh_places_) {
      kept_.append(rule_.item(place));
      places_.push_back(place);
    }
  }

  Rule rule_;
  int64_t* keepers_;
  Kept kept_;             // in the rounds before this one
  Kept fresh_;            // in this round
  int64_t compared_ = 0;  // of `kept_`, that this round's items were compared with
  std::vector<int64_t> places_, fresh_places_;
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
