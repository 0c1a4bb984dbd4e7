// Greedy suppression: going down a ranking, an item is kept unless an item kept earlier suppresses
// it. A rule decides what suppresses what:
//
//   struct Rule {
//     using Item = ...;                                               // what a comparison needs
//     Item item(int64_t rank) const;
//     bool suppresses(const Item& earlier, const Item& later) const;  // only within a group
//     Reach reach(const Item& item) const;                            // CUDA only
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
  // CUDA only: scratch memory, in the order of greedy_cuda.h.
  uint32_t* keep;      // [greedy_tiles, kGreedyTile / 32]: a bit for each item
  uint32_t* segments;  // [greedy_slab_pairs, kGreedyTile, kGreedyTile / 32], aligned to 16 bytes
  uint32_t* summary;   // [greedy_slab, greedy_summaries, kGreedyTile]
};

// Bytes between data that one thread writes and data that others poll: two cache lines, which are
// fetched together.
constexpr int kApart = 128;

// Items that the CUDA executor decides together.
constexpr int kGreedyTile = 1024;
// Pairs of tiles whose items are compared before any of them is decided: 64 MB, and 31,744 items in
// one slab.
constexpr int64_t kGreedySlabPairs = 512;

ORBBEC_HD int64_t greedy_tiles(int64_t count) { return (count + kGreedyTile - 1) / kGreedyTile; }

// Pairs of a tile before `tiles` and one that is not after it.
ORBBEC_HD int64_t greedy_tile_pairs(int64_t tiles) { return tiles * (tiles + 1) / 2; }

// Words that summarize an item's suppressors, one for 4 tiles.
ORBBEC_HD int64_t greedy_summaries(int64_t count) { return (greedy_tiles(count) + 3) / 4; }

// Tiles per slab.
inline int64_t greedy_slab(int64_t count) {
  const int64_t tiles = greedy_tiles(count);
  if (greedy_tile_pairs(tiles) <= kGreedySlabPairs) return tiles;
  return tiles < kGreedySlabPairs ? kGreedySlabPairs / tiles : 1;
}

// Pairs of tiles of the largest slab.
inline int64_t greedy_slab_pairs(int64_t count) {
  const int64_t tiles = greedy_tiles(count), first = tiles - greedy_slab(count);
  return greedy_tile_pairs(tiles) - greedy_tile_pairs(first);
}

// Bounds of an item that two items overlap in if one suppresses the other. Wider than the item, so
// that rounding loses no pair; NaN where nothing is known.
struct alignas(16) Reach {
  float x1, y1, x2, y2;
};

template <class T>
ORBBEC_HD Reach reach_of(T x1, T y1, T x2, T y2) {
  // 1e-6 is 8 times what two roundings change; 1e-30 is above what is lost below float's range.
  const auto margin = [](float bound) { return magnitude(bound) * 1e-6f + 1e-30f; };
  const float left = static_cast<float>(x1), top = static_cast<float>(y1);
  const float right = static_cast<float>(x2), bottom = static_cast<float>(y2);
  return {left - margin(left), top - margin(top), right + margin(right), bottom + margin(bottom)};
}

// False with NaN.
ORBBEC_HD bool apart(const Reach& a, const Reach& b) {
  return (a.x2 < b.x1) | (b.x2 < a.x1) | (a.y2 < b.y1) | (b.y2 < a.y1);
}

}  // namespace orbbec
