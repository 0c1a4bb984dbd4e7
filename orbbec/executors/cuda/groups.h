// Groups of neighboring pixels, loaded and stored as whole words by the threads of a warp. Included
// by pointwise.h and values.h.
#pragma once

#include "../../core/image.h"
#include "bytes.h"

namespace orbbec {

constexpr int kGroup = 4;  // pixels of a thread at a time
constexpr int kPointwiseThreads = 256, kPointwiseWarps = kPointwiseThreads / kWarp;

// Words of a group of 3 channels.
template <class T>
constexpr int kStagedWords = 3 * kGroup * static_cast<int>(sizeof(T)) / 4;

// The values of a group in one channel, or of one pixel if there is one channel.
template <class T>
struct alignas(sizeof(T) < 4 ? sizeof(T) * kGroup : 16) GroupValues {
  T values[kGroup];
};

enum class Packing { kPixels, kPlanes, kNone };

// An image whose pixels are in one line, without gaps between rows: 3 channels side by side, or a
// plane per channel.
template <class T>
struct GroupedPixels {
  T* data;
  int64_t stride_c;
  Packing packing;

  __device__ static GroupedPixels of(const Image<T>& image, int channels) {
    constexpr int64_t kPlaneBytes = alignof(GroupValues<T>), kWordBytes = 4;
    const bool in_line = image.height == 1 || image.stride_y == image.width * image.stride_x;
    const auto address = reinterpret_cast<uintptr_t>(image.data);
    const int64_t plane_bytes = image.stride_c * static_cast<int64_t>(sizeof(T));
    GroupedPixels grouped{image.data, image.stride_c, Packing::kNone};
    if (!in_line) return grouped;
    if (image.stride_x == 1 && address % kPlaneBytes == 0 &&
        (channels == 1 || plane_bytes % kPlaneBytes == 0))
      grouped.packing = Packing::kPlanes;
    if (channels == 3 && image.stride_x == 3 && image.stride_c == 1 && address % kWordBytes == 0)
      grouped.packing = Packing::kPixels;
    return grouped;
  }
};

// Items `lane`, lane + 32, ... of a run of `count`, without a test for each where all exist. `from`
// is the first of this lane.
template <int kItems, class T>
__device__ void load_striped(const T* from, int lane, int count, T (&items)[kItems]) {
  if (count >= kItems * kWarp) {
    for (int i = 0; i < kItems; ++i) items[i] = from[i * kWarp];
  } else {
    for (int i = 0; i < kItems; ++i) items[i] = lane + i * kWarp < count ? from[i * kWarp] : T{};
  }
}
template <int kItems, class T>
__device__ void store_striped(const T* items, int lane, int count, T* to) {
  if (count >= kItems * kWarp) {
    for (int i = 0; i < kItems; ++i) to[i * kWarp] = items[i * kWarp];
  } else {
    for (int i = 0; i < kItems; ++i) {
      if (lane + i * kWarp < count) to[i * kWarp] = items[i * kWarp];
    }
  }
}

// kItems neighboring items for each thread of a warp, of `count` in all from `from` on, as
// cub::WarpLoad with WARP_LOAD_TRANSPOSE: neighboring lanes load neighboring items, and `staged`,
// shared memory, exchanges them. Zeros beyond.
template <int kItems, class T>
__device__ void warp_load(const T* from, int count, T* staged, T (&items)[kItems]) {
  const int lane = lane_id();
  load_striped(from + lane, lane, count, items);
  for (int i = 0; i < kItems; ++i) staged[lane + i * kWarp] = items[i];
  __syncwarp();
  for (int i = 0; i < kItems; ++i) items[i] = staged[kItems * lane + i];
  __syncwarp();
}

// The reverse, as cub::WarpStore. `to` and `count` are in words, of which an item has one or more.
template <int kItems, class T, class Word>
__device__ void warp_store(const T (&items)[kItems], T* staged, int count, Word* to) {
  constexpr int kWords = kItems * static_cast<int>(sizeof(T) / sizeof(Word));
  const int lane = lane_id();
  for (int i = 0; i < kItems; ++i) staged[kItems * lane + i] = items[i];
  __syncwarp();
  store_striped<kWords>(reinterpret_cast<const Word*>(staged) + lane, lane, count, to + lane);
  __syncwarp();
}

// Loads group `first` + lane of `groups`; the groups of a warp follow each other. All threads of
// the warp take part; those without a group get zeros.
template <int kChannels>
__device__ void load_group(const GroupedPixels<const uint8_t>& from, int first, int groups,
                           uint32_t* staged, int (&values)[kGroup][kChannels]) {
  uint32_t words[kChannels];
  if (kChannels == 3 && from.packing == Packing::kPixels) {
    const auto* const data = reinterpret_cast<const uint32_t*>(from.data) + int64_t{3} * first;
    warp_load(data, 3 * (groups - first), staged, words);
    for (int i = 0; i < 3 * kGroup; ++i)
      values[i / 3][i % 3] = static_cast<int>(words[i / 4] >> (8 * (i % 4)) & 255);
  } else {
    const int group = first + lane_id();
    for (int c = 0; c < kChannels; ++c) {
      const auto* const plane = reinterpret_cast<const uint32_t*>(from.data + c * from.stride_c);
      words[c] = group < groups ? plane[group] : 0;
    }
    for (int c = 0; c < kChannels; ++c) {
      for (int p = 0; p < kGroup; ++p) values[p][c] = static_cast<int>(words[c] >> (8 * p) & 255);
    }
  }
}

// Stores what load_group loads.
template <class T, int kChannels>
__device__ void store_group(const GroupedPixels<T>& to, int first, int groups, uint32_t* staged,
                            const T (&values)[kGroup][kChannels]) {
  const int group = first + lane_id();
  if (kChannels == 3 && to.packing == Packing::kPixels) {
    GroupValues<T> parts[3];
    for (int i = 0; i < 3 * kGroup; ++i)
      parts[i / kGroup].values[i % kGroup] = values[i / 3][i % 3];
    constexpr int kWords = kStagedWords<T>;
    auto* const data = reinterpret_cast<uint32_t*>(to.data) + int64_t{kWords} * first;
    warp_store(parts, reinterpret_cast<GroupValues<T>*>(staged), kWords * (groups - first), data);
  } else if (group < groups) {
    for (int c = 0; c < kChannels; ++c) {
      GroupValues<T> plane;
      for (int p = 0; p < kGroup; ++p) plane.values[p] = values[p][c];
      reinterpret_cast<GroupValues<T>*>(to.data + c * to.stride_c)[group] = plane;
    }
  }
}

// Groups of 16 pixels of 3 bytes side by side.
struct WidePixels {
  static constexpr int kPixels = 16, kWords = 3 * kPixels / 4, kLoads = 3;

  __device__ static bool fits(const void* data) {
    return reinterpret_cast<uintptr_t>(data) % sizeof(uint4) == 0;
  }

  // The words of group `first` + lane of `groups`. All threads of the warp take part.
  __device__ static void load(const uint8_t* from, int first, int groups, uint4* staged,
                              uint32_t (&words)[kWords]) {
    const auto* const data = reinterpret_cast<const uint4*>(from) + int64_t{kLoads} * first;
    uint4 loaded[kLoads];
    warp_load(data, kLoads * (groups - first), staged, loaded);
    memcpy(words, loaded, sizeof(words));
  }

  // Stores what `load` loads.
  __device__ static void store(uint8_t* to, int first, int groups, uint4* staged,
                               const uint32_t (&words)[kWords]) {
    auto* const data = reinterpret_cast<uint4*>(to) + int64_t{kLoads} * first;
    uint4 stored[kLoads];
    memcpy(stored, words, sizeof(words));
    warp_store(stored, staged, kLoads * (groups - first), data);
  }
};

}  // namespace orbbec
