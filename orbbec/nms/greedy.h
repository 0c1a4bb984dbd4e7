// Greedy suppression: going down a ranking, an item is kept unless an item kept earlier suppresses
// it. A rule decides what suppresses what:
//
//   struct Rule {
//     using Item = ...;                                     // what one comparison needs
//     Item item(int64_t rank) const;
//     int64_t group(const Item& item) const;                // only items of one group compete
//     bool suppresses(const Item& kept, const Item& later) const;
//   };
//
// Run by greedy_cpu.h and greedy_cuda.h, which give the same results.
#pragma once

#include "../core/common.h"

namespace orbbec {

struct GreedyArguments {
  int64_t count;
  // [count], ascending, or null where all items are in one group.
  const int64_t* groups;
  // [count]: the rank of the first kept item that suppresses this one; its own rank if it is kept.
  int64_t* keepers;
  // CUDA only. The ranks of the items kept so far, [count], and their number.
  int64_t* kept;
  int64_t* kept_count;
  // CUDA only. A bit matrix of which items of a tile suppress which,
  // [kGreedyTile, kGreedyTile / 32].
  uint32_t* within;
};

// Bytes between data that one thread writes and data that others poll: two cache lines, which are
// fetched together.
constexpr int kApart = 128;

// Items per tile of the CUDA executor.
constexpr int kGreedyTile = 1024;

}  // namespace orbbec
