// Greedy suppression on a CUDA device: tile by tile down the ranking, without host synchronization.
// Included by *_cuda.cu.
#pragma once

#include "../executors/launch.h"
#include "greedy.h"

namespace orbbec {

constexpr int kWordsPerItem = kGreedyTile / 32;
constexpr int kComparing = 256;  // threads per block, and items it stages
constexpr int kKeptBlocks =
    64;  // blocks that split the kept items, for each of the 4 blocks of a tile
constexpr int64_t kUndecided = 0x7fffffffffffffff;

using AtomicIndex = unsigned long long;

// A thread owns an item. No shared memory.
static __global__ void __launch_bounds__(kComparing, 1)
    clear_greedy_kernel(const GreedyArguments a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kComparing + threadIdx.x;
  if (i < a.count) a.keepers[i] = kUndecided;
  if (i == 0) *a.kept_count = 0;
}

// A block compares 256 items of the tile, one per thread, with every gridDim.y-th 256 of the kept
// items, which it stages in shared memory: 256 items of the rule. Each of the tile's blocks reads a
// kept item once.
template <class Rule>
__global__ void __launch_bounds__(kComparing, 1)
    compare_with_kept_kernel(const Rule rule, const GreedyArguments a, int64_t tile) {
  using Item = typename Rule::Item;
  Item* const staged = dynamic_shared<Item>();
  const int64_t first = tile + static_cast<int64_t>(blockIdx.x) * kComparing;
  if (first >= a.count) return;
  const int64_t i = first + threadIdx.x;
  const bool mine = i < a.count;
  const Item item = rule.item(mine ? i : first);
  const int64_t lowest_group = rule.group(rule.item(first));
  const int64_t count = *a.kept_count;
  bool open = mine;
  for (int64_t begin = static_cast<int64_t>(blockIdx.y) * kComparing; begin < count;
       begin += static_cast<int64_t>(gridDim.y) * kComparing) {
    const int present = static_cast<int>(count - begin < kComparing ? count - begin : kComparing);
    __syncthreads();
    if (threadIdx.x < present) staged[threadIdx.x] = rule.item(a.kept[begin + threadIdx.x]);
    if (!__syncthreads_or(open)) return;
    if (rule.group(staged[present - 1]) < lowest_group) continue;
    for (int k = 0; open && k < present; ++k) {
      if (!rule.suppresses(staged[k], item)) continue;
      atomicMin(reinterpret_cast<AtomicIndex*>(a.keepers + i),
                static_cast<AtomicIndex>(a.kept[begin + k]));
      open = false;  // later matches are kept later, so the first match decides
    }
  }
}

// A thread owns one word: which of 32 items of the tile suppress its item. The 32 are staged in
// shared memory: 32 items of the rule.
template <class Rule>
__global__ void __launch_bounds__(kComparing, 1)
    compare_within_kernel(const Rule rule, const GreedyArguments a, int64_t tile) {
  using Item = typename Rule::Item;
  Item* const staged = dynamic_shared<Item>();
  const int64_t earlier = tile + static_cast<int64_t>(blockIdx.y) * kWarp;
  if (threadIdx.x < kWarp && earlier + threadIdx.x < a.count) {
    staged[threadIdx.x] = rule.item(earlier + threadIdx.x);
  }
  __syncthreads();
  const int row = static_cast<int>(blockIdx.x) * kComparing + static_cast<int>(threadIdx.x);
  const int64_t i = tile + row;
  if (i >= a.count || earlier > i || a.keepers[i] != kUndecided) return;
  const Item item = rule.item(i);
  uint32_t word = 0;
  for (int k = 0; k < kWarp && earlier + k < i; ++k) {
    if (rule.suppresses(staged[k], item)) word |= 1u << k;
  }
  a.within[row * kWordsPerItem + blockIdx.y] = word;
}

// One warp: which of its 32 items survive, given those already suppressed. Item k is final after at
// most k rounds; most tiles take three.
__device__ __forceinline__ uint32_t settle_warp(bool fallen, uint32_t suppressors) {
  const uint32_t standing = __ballot_sync(kAllLanes, !fallen);
  uint32_t kept = standing, before;
  do {
    before = kept;
    kept = __ballot_sync(kAllLanes, !fallen && (suppressors & before) == 0);
  } while (kept != before);
  return kept;
}

// One block decides a tile in 32 steps of 32 items. In a step, warp k owns item k and its lanes the
// words of the previous items; then warp 0 settles the 32 among themselves. Shared memory: 384
// bytes. Each word of `within` is read once.
static __global__ void __launch_bounds__(kGreedyTile, 1)
    decide_kernel(const GreedyArguments a, int64_t tile) {
  __shared__ uint32_t kept[kWordsPerItem], own[kWarp], fallen[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t left = a.count - tile;
  const int items = static_cast<int>(left < kGreedyTile ? left : kGreedyTile);
  for (int step = 0; step * kWarp < items; ++step) {
    const int row = step * kWarp + warp;
    const bool open = row < items && a.keepers[tile + row] == kUndecided;
    const uint32_t word = open && lane <= step ? a.within[row * kWordsPerItem + lane] : 0;
    const uint32_t hits = lane < step ? word & kept[lane] : 0;
    const uint32_t lanes = __ballot_sync(kAllLanes, hits != 0);
    __syncwarp();  // every lane has read the keeper
    if (lanes != 0 && lane == __ffs(lanes) - 1) {
      a.keepers[tile + row] = tile + lane * kWarp + __ffs(hits) - 1;
    }
    if (lane == step) own[warp] = word;
    if (lane == 0) fallen[warp] = !open || lanes != 0;
    __syncthreads();
    if (warp == 0) {
      const uint32_t stay = settle_warp(fallen[lane] != 0, own[lane]);
      if (!fallen[lane]) {
        const uint32_t by = own[lane] & stay;
        a.keepers[tile + step * kWarp + lane] =
            tile + step * kWarp + (by == 0 ? lane : __ffs(by) - 1);
      }
      if (lane == 0) kept[step] = stay;
    }
    __syncthreads();
  }
  const int row = static_cast<int>(threadIdx.x);
  int64_t slot = *a.kept_count;
  for (int w = 0; w < warp && w * kWarp < items; ++w) slot += __popc(kept[w]);
  __syncthreads();
  if (row < items) {
    const uint32_t word = kept[warp];
    if (word >> lane & 1u) {
      a.kept[slot + __popc(word & ((1u << lane) - 1))] = tile + row;
    }
    if (row == items - 1) *a.kept_count = slot + __popc(word);
  }
}

// Queues the whole suppression on `stream`. Returns a cudaError_t.
template <class Rule>
int greedy_cuda(const Rule& rule, const GreedyArguments& a, void* stream) {
  const dim3 blocks(static_cast<unsigned>((a.count + kComparing - 1) / kComparing));
  int status = launch(clear_greedy_kernel, blocks, dim3(kComparing), 0, stream, a);
  const size_t item_bytes = sizeof(typename Rule::Item);
  for (int64_t tile = 0; tile < a.count && status == 0; tile += kGreedyTile) {
    constexpr int kBlocksPerTile = kGreedyTile / kComparing;
    if (tile > 0) {
      status = launch(compare_with_kept_kernel<Rule>, dim3(kBlocksPerTile, kKeptBlocks),
                      dim3(kComparing), kComparing * item_bytes, stream, rule, a, tile);
    }
    if (status == 0) {
      status = launch(compare_within_kernel<Rule>, dim3(kBlocksPerTile, kWordsPerItem),
                      dim3(kComparing), kWarp * item_bytes, stream, rule, a, tile);
    }
    if (status == 0) status = launch(decide_kernel, dim3(1), dim3(kGreedyTile), 0, stream, a, tile);
  }
  return status;
}

}  // namespace orbbec
