// Greedy suppression. Going down a ranking, an item is kept unless one that was kept before it
// suppresses it. What suppresses what is a rule:
//
//   struct Rule {
//     using Item = ...;                                     // what one comparison needs
//     Item item(int64_t position) const;                    // by place in the ranking
//     int64_t group(const Item& item) const;                // only items of one group meet
//     bool suppresses(const Item& kept, const Item& later) const;
//   };
//
// Run by greedy_cpu.h and greedy_cuda.h, which agree: every decision is a rule's alone.
#pragma once

#include "common.h"

namespace orbbec {

struct GreedyArguments {
  int64_t count;
  // [count], ascending, or null where all items are of one group.
  const int64_t* groups;
  // [count]: the place of the first kept item that suppresses this one; its own if it is kept.
  int64_t* keepers;
  // CUDA only. Places of the items kept so far, [count], and how many they are.
  int64_t* kept;
  int64_t* kept_count;
  // CUDA only. Which items of a tile suppress which, [kGreedyTile, kGreedyTile / 32].
  uint32_t* within;
};

// Bytes between what one thread writes and others read all the time: two lines of a cache, which
// are fetched together.
constexpr int kApart = 128;

// Items that the CUDA executor decides together.
constexpr int kGreedyTile = 1024;

}  // namespace orbbec
