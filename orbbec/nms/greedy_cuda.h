// Greedy suppression on a CUDA device, without host synchronization. Two launches for each slab of
// tiles: one compares its items with all before them on the whole device, one decides them.
// Included by *_cuda.cu.
#pragma once

#include "../executors/cuda/warp.h"
#include "greedy.h"

namespace orbbec {

// Rotated boxes take more than the 128 registers that 16 warps leave a thread.
template <class Rule>
constexpr int kComparingWarps = sizeof(typename Rule::Item) > 32 ? 8 : 16;
constexpr int kItemsPerLane = 2;  // share what a warp reads of the earlier items
constexpr int kItemsPerBlock = kItemsPerLane * kWarp;
constexpr int kBlocksPerTile = kGreedyTile / kItemsPerBlock;
constexpr int kSegmentWords = 4;  // of the 128 items of a segment, read at once
constexpr int kSegmentsPerTile = kGreedyTile / (kSegmentWords * kWarp);
constexpr int kTilesPerSummary = 32 / kSegmentsPerTile;

// Which earlier items suppress an item, in words of 32, in segments of 128 items. Segments without
// any are not stored; `summary` has a bit for each segment. Both are ordered so that the items of a
// tile are adjacent.
struct SuppressorBits {
  uint4* segments;    // [tile and earlier tile of the slab, segment, item]
  uint32_t* summary;  // [tile of the slab, kTilesPerSummary tiles, item]
  int first_tile;     // of the slab
  int summaries;      // per item

  __device__ SuppressorBits(const GreedyArguments& a, int first)
      : segments(reinterpret_cast<uint4*>(a.segments)),
        summary(a.summary),
        first_tile(first),
        summaries(static_cast<int>(greedy_summaries(a.count))) {}

  // Of the first item of the tile; that of item k is k further on.
  __device__ uint4* segments_of(int tile, int segment) const {
    const int64_t pairs = greedy_tile_pairs(tile) - greedy_tile_pairs(first_tile);
    return segments + (pairs * kSegmentsPerTile + segment) * kGreedyTile;
  }
  __device__ uint32_t* summary_of(int tile, int index) const {
    return summary + (int64_t{tile - first_tile} * summaries + index) * kGreedyTile;
  }
};

// Bits of the items of a word that begins at `base` which come before `row`.
__device__ __forceinline__ uint32_t bits_before(int64_t base, int64_t row) {
  const int64_t before = row - base;
  return before >= kWarp ? ~0u : before <= 0 ? 0u : (1u << before) - 1;
}

// An item and the bits of the earlier items that suppress it, of one word.
template <class Rule>
struct ComparedItem {
  typename Rule::Item item;
  Reach reach;
  int64_t row;
  uint32_t word;
};

// Compares the items of a warp with the 32 from `base` on, of which `possible` may suppress; a lane
// owns one of these and `mine`. `staged` and `reaches` are the warp's own: 32 elements.
template <class Rule>
__device__ __forceinline__ void compare_with_word(const Rule& rule, const GreedyArguments& a,
                                                  int64_t base, uint32_t possible,
                                                  ComparedItem<Rule> (&mine)[kItemsPerLane],
                                                  typename Rule::Item* staged, float4* reaches) {
  const int lane = lane_id();
  const int64_t earlier = base + lane;
  staged[lane] = rule.item(earlier < a.count ? earlier : a.count - 1);
  const Reach reach = rule.reach(staged[lane]);
  reaches[lane] = make_float4(reach.x1, reach.y1, reach.x2, reach.y2);
  __syncwarp();
  uint32_t candidates[kItemsPerLane] = {};
#pragma unroll
  for (int k = 0; k < kWarp; ++k) {
    const float4 other = reaches[k];
#pragma unroll
    for (int i = 0; i < kItemsPerLane; ++i) {
      const bool meet = !apart({other.x, other.y, other.z, other.w}, mine[i].reach);
      candidates[i] |= meet ? 1u << k : 0u;
    }
  }
#pragma unroll
  for (int i = 0; i < kItemsPerLane; ++i) {
    uint32_t left = candidates[i] & possible & bits_before(base, mine[i].row);
    for (; left != 0; left &= left - 1) {
      const int k = __ffs(left) - 1;
      if (rule.suppresses(staged[k], mine[i].item)) mine[i].word |= 1u << k;
    }
  }
  __syncwarp();
}

// A block compares 64 items with the 1024 of tile blockIdx.y; a warp owns every 8th or 16th word of
// 32, and a lane two items. Shared memory: an item per thread, and its reach, and 9 KB. A block
// reads each item once.
template <class Rule>
__global__ void __launch_bounds__(kComparingWarps<Rule>* kWarp, 1)
    compare_kernel(const Rule rule, const GreedyArguments a, int first_tile) {
  using Item = typename Rule::Item;
  __shared__ uint32_t words[kItemsPerBlock][kWarp + 1];  // [item][word]; 1 more for the banks
  __shared__ uint32_t filled[kItemsPerLane][kSegmentsPerTile];  // a bit for each item
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int block = static_cast<int>(blockIdx.x), columns = static_cast<int>(blockIdx.y);
  const int tile = first_tile + block / kBlocksPerTile;
  const int first_in_tile = block % kBlocksPerTile * kItemsPerBlock;
  const int64_t first = int64_t{tile} * kGreedyTile + first_in_tile;
  if (columns > tile || first >= a.count) return;
  float4* const reaches = dynamic_shared<float4>() + warp * kWarp;
  Item* const staged =
      reinterpret_cast<Item*>(dynamic_shared<float4>() + kComparingWarps<Rule> * kWarp) +
      warp * kWarp;
  ComparedItem<Rule> mine[kItemsPerLane];
#pragma unroll
  for (int i = 0; i < kItemsPerLane; ++i) {
    mine[i].row = first + i * kWarp + lane;
    mine[i].item = rule.item(mine[i].row < a.count ? mine[i].row : a.count - 1);
    mine[i].reach = rule.reach(mine[i].item);
  }
  for (int w = warp; w < kWarp; w += kComparingWarps<Rule>) {
    const int64_t base = int64_t{columns} * kGreedyTile + w * kWarp;
    mine[0].word = mine[1].word = 0;
    if (base < first + kItemsPerBlock && (a.groups == nullptr || base + kWarp > first ||
                                          a.groups[base + kWarp - 1] >= a.groups[first])) {
      // Items that earlier slabs dropped suppress nothing.
      const uint32_t possible = columns < first_tile ? a.keep[columns * kWarp + w] : ~0u;
      compare_with_word(rule, a, base, possible, mine, staged, reaches);
    }
#pragma unroll
    for (int i = 0; i < kItemsPerLane; ++i) words[i * kWarp + lane][w] = mine[i].word;
  }
  __syncthreads();
  const SuppressorBits bits(a, first_tile);
  for (int task = warp; task < kItemsPerLane * kSegmentsPerTile; task += kComparingWarps<Rule>) {
    const int s = task % kSegmentsPerTile, item = task / kSegmentsPerTile * kWarp + lane;
    const uint32_t* const column = words[item] + kSegmentWords * s;
    const uint4 segment = make_uint4(column[0], column[1], column[2], column[3]);
    const bool any = (segment.x | segment.y | segment.z | segment.w) != 0;
    const uint32_t items = __ballot_sync(kAllLanes, any);
    if (items != 0) {  // all lanes, so that sectors are written as a whole
      bits.segments_of(tile, columns * kSegmentsPerTile + s)[first_in_tile + item] = segment;
    }
    if (lane == 0) filled[item / kWarp][s] = items;
  }
  __syncthreads();
  if (warp < kItemsPerLane) {
    uint32_t byte = 0;
    for (int s = 0; s < kSegmentsPerTile; ++s) byte |= (filled[warp][s] >> lane & 1u) << s;
    uint32_t* const summary =
        bits.summary_of(tile, columns / kTilesPerSummary) + first_in_tile + warp * kWarp + lane;
    reinterpret_cast<uint8_t*>(summary)[columns % kTilesPerSummary] = static_cast<uint8_t>(byte);
  }
}

// The first item of a segment that is kept, or -1.
__device__ __forceinline__ int first_keeper(const uint4& segment, const uint4& keep) {
  const uint32_t x = segment.x & keep.x, y = segment.y & keep.y, z = segment.z & keep.z,
                 w = segment.w & keep.w;
  const int low = x != 0 ? __ffs(x) : kWarp + __ffs(y);
  const int high = z != 0 ? 2 * kWarp + __ffs(z) : 3 * kWarp + __ffs(w);
  return (x | y) != 0 ? low - 1 : (z | w) != 0 ? high - 1 : -1;
}

// The first kept item of earlier tiles that suppresses the thread's item of the tile; -1 if there
// is none. Four segments are read at a time, one of each summary, since a read waits for memory.
__device__ __forceinline__ int first_keeper(const GreedyArguments& a, const SuppressorBits& bits,
                                            int tile) {
  constexpr int kSummaries = 4;
  const uint4* const segments = bits.segments_of(tile, 0) + threadIdx.x;
  const uint4* const keep = reinterpret_cast<const uint4*>(a.keep);
  int keeper = -1;
  for (int from = 0; from * kTilesPerSummary < tile && keeper < 0; from += kSummaries) {
    uint32_t filled[kSummaries];
#pragma unroll
    for (int k = 0; k < kSummaries; ++k) {
      const int tiles = tile - (from + k) * kTilesPerSummary;
      filled[k] = tiles > 0 ? bits.summary_of(tile, from + k)[threadIdx.x] : 0;
      if (tiles < kTilesPerSummary) filled[k] &= (1u << larger(tiles, 0) * kSegmentsPerTile) - 1;
    }
    while ((filled[0] | filled[1] | filled[2] | filled[3]) != 0) {
      int found[kSummaries];
#pragma unroll
      for (int k = 0; k < kSummaries; ++k) {
        found[k] = -1;
        if (filled[k] == 0) continue;
        const int segment = (from + k) * 32 + __ffs(filled[k]) - 1;
        const int hit = first_keeper(segments[int64_t{segment} * kGreedyTile], keep[segment]);
        if (hit >= 0) found[k] = segment * (kSegmentWords * kWarp) + hit;
        filled[k] &= filled[k] - 1;
      }
#pragma unroll
      for (int k = kSummaries - 1; k >= 0; --k) {
        if (found[k] < 0) continue;
        keeper = found[k];  // only items of earlier summaries come before it
#pragma unroll
        for (int later = k; later < kSummaries; ++later) filled[later] = 0;
      }
    }
  }
  return keeper;
}

// What the items of a tile know of each other, a bit for each, as of the last round and the next.
struct TileState {
  uint4 keep[2][kSegmentsPerTile], open[2][kSegmentsPerTile];

  __device__ void publish(int buffer, int warp, uint32_t all_keep, uint32_t all_open) {
    reinterpret_cast<uint32_t*>(keep[buffer])[warp] = all_keep;
    reinterpret_cast<uint32_t*>(open[buffer])[warp] = all_open;
  }
};

__device__ __forceinline__ bool meet(const uint4& a, const uint4& b) {
  return ((a.x & b.x) | (a.y & b.y) | (a.z & b.z) | (a.w & b.w)) != 0;
}

// Decides the items of a tile that are `open`; returns whether the thread's is kept. `pending` has
// a bit for each segment of the tile that suppresses it. In a round, items see what was decided
// before it in other warps, and at once what their own warp decides; so warp w is done after w + 1
// rounds at most, and most tiles take two.
__device__ __forceinline__ bool settle_tile(const uint4* segments, bool open, uint32_t pending,
                                            TileState& state) {
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warp_segment = warp / kSegmentWords, warp_word = warp % kSegmentWords;
  bool keep = open && pending == 0;
  open = open && !keep;
  uint32_t suppressors = 0;  // of the warp itself
  if (open && (pending >> warp_segment & 1u) != 0) {
    suppressors =
        reinterpret_cast<const uint32_t*>(segments + warp_segment * kGreedyTile)[warp_word];
  }
  uint32_t all_keep = __ballot_sync(kAllLanes, keep), all_open = __ballot_sync(kAllLanes, open);
  if (lane == 0) state.publish(0, warp, all_keep, all_open);
  for (int buffer = 0; __syncthreads_or(open); buffer ^= 1) {
    bool waits = false, falls = false;
    for (uint32_t left = open ? pending : 0; left != 0; left &= left - 1) {
      const int s = __ffs(left) - 1;
      uint4 segment = segments[s * kGreedyTile];
      falls |= meet(segment, state.keep[buffer][s]);
      if (s == warp_segment) {
        if (warp_word == 0) segment.x = 0;
        if (warp_word == 1) segment.y = 0;
        if (warp_word == 2) segment.z = 0;
        if (warp_word == 3) segment.w = 0;
      }
      waits |= meet(segment, state.open[buffer][s]);
    }
    open = open && !falls;
    for (uint32_t before = 0; before != all_open && all_open != 0;) {
      before = all_open;
      const bool stays = open && !waits && (suppressors & (all_open | all_keep)) == 0;
      open = open && !stays && (suppressors & all_keep) == 0;
      keep |= stays;
      all_keep = __ballot_sync(kAllLanes, keep);
      all_open = __ballot_sync(kAllLanes, open);
    }
    if (lane == 0) state.publish(buffer ^ 1, warp, all_keep, all_open);
  }
  return keep;
}

// One block decides the tiles of a slab, one after another; a thread owns an item of each. Shared
// memory: 512 bytes. A segment with suppressors is read once for each earlier tile, or once a round
// in its own tile.
static __global__ void __launch_bounds__(kGreedyTile, 1)
    decide_kernel(const GreedyArguments a, int first_tile, int end_tile) {
  __shared__ TileState state;
  const SuppressorBits bits(a, first_tile);
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int tile = first_tile; tile < end_tile; ++tile) {
    const int row = tile * kGreedyTile + static_cast<int>(threadIdx.x);
    const bool mine = row < a.count;
    const uint4* const segments = bits.segments_of(tile, tile * kSegmentsPerTile) + threadIdx.x;
    const uint32_t summary = mine ? bits.summary_of(tile, tile / kTilesPerSummary)[threadIdx.x] : 0;
    const uint32_t pending =
        summary >> tile % kTilesPerSummary * kSegmentsPerTile & ((2u << warp / kSegmentWords) - 1);
    int keeper = mine ? first_keeper(a, bits, tile) : row;
    const bool keep = settle_tile(segments, keeper < 0, pending, state);
    const uint32_t all_keep = __ballot_sync(kAllLanes, keep);
    if (lane == 0) a.keep[tile * kWarp + warp] = all_keep;
    __syncthreads();
    if (keep) keeper = row;
    for (uint32_t left = pending; keeper < 0; left &= left - 1) {
      const int s = __ffs(left) - 1, segment = tile * kSegmentsPerTile + s;
      const int hit =
          first_keeper(segments[s * kGreedyTile], reinterpret_cast<const uint4*>(a.keep)[segment]);
      if (hit >= 0) keeper = segment * (kSegmentWords * kWarp) + hit;
    }
    if (mine) a.keepers[row] = keeper;
  }
}

// Queues the whole suppression on `stream`. Returns a cudaError_t.
template <class Rule>
int greedy_cuda(const Rule& rule, const GreedyArguments& a, void* stream) {
  constexpr size_t kBytes =
      kComparingWarps<Rule> * kWarp * (sizeof(typename Rule::Item) + sizeof(Reach));
  const int tiles = static_cast<int>(greedy_tiles(a.count));
  const int slab = static_cast<int>(greedy_slab(a.count));
  int status = 0;
  for (int first = 0; first < tiles && status == 0; first += slab) {
    const int end = first + slab < tiles ? first + slab : tiles;
    const dim3 grid(static_cast<unsigned>((end - first) * kBlocksPerTile),
                    static_cast<unsigned>(end));
    status = launch(compare_kernel<Rule>, grid, dim3(kComparingWarps<Rule> * kWarp), kBytes, stream,
                    rule, a, first);
    if (status == 0) {
      status = launch(decide_kernel, dim3(1), dim3(kGreedyTile), 0, stream, a, first, end);
    }
  }
  return status;
}

}  // namespace orbbec
