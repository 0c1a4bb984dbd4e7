// Groups of neighboring pixels, loaded and stored as whole words by the threads of a warp. Included
// by pointwise_cuda.h.
#pragma once

#include "../core/image.h"
#include "launch.h"

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

// Words `lane`, lane + 32, ... of a run of `count`, without a test for each where all exist. `from`
// is the first of this lane.
template <int kWords>
__device__ void load_words(const uint32_t* from, int lane, int count, uint32_t (&words)[kWords]) {
  if (count >= kWords * kWarp) {
    for (int i = 0; i < kWords; ++i) words[i] = from[i * kWarp];
  } else {
    for (int i = 0; i < kWords; ++i) words[i] = lane + i * kWarp < count ? from[i * kWarp] : 0;
  }
}
template <int kWords>
__device__ void store_words(const uint32_t* words, int lane, int count, uint32_t* to) {
  if (count >= kWords * kWarp) {
    for (int i = 0; i < kWords; ++i) to[i * kWarp] = words[i * kWarp];
  } else {
    for (int i = 0; i < kWords; ++i) {
      if (lane + i * kWarp < count) to[i * kWarp] = words[i * kWarp];
    }
  }
}

// Loads group `first` + lane of `groups`; the groups of a warp follow each other. All threads of
// the warp take part; those without a group get zeros.
template <int kChannels>
__device__ void load_group(const GroupedPixels<const uint8_t>& from, int first, int groups,
                           uint32_t* staged, int (&values)[kGroup][kChannels]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint32_t words[kChannels];
  if (kChannels == 3 && from.packing == Packing::kPixels) {
    const auto* const data = reinterpret_cast<const uint32_t*>(from.data) + int64_t{3} * first;
    load_words(data + lane, lane, 3 * (groups - first), words);
    for (int i = 0; i < 3; ++i) staged[lane + i * kWarp] = words[i];
    __syncwarp();
    for (int i = 0; i < 3; ++i) words[i] = staged[3 * lane + i];
    __syncwarp();
    for (int i = 0; i < 3 * kGroup; ++i)
      values[i / 3][i % 3] = static_cast<int>(words[i / 4] >> (8 * (i % 4)) & 255);
  } else {
    for (int c = 0; c < kChannels; ++c) {
      const auto* const plane = reinterpret_cast<const uint32_t*>(from.data + c * from.stride_c);
      words[c] = first + lane < groups ? plane[first + lane] : 0;
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
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (kChannels == 3 && to.packing == Packing::kPixels) {
    constexpr int kWords = kStagedWords<T>;
    GroupValues<T>* const own = reinterpret_cast<GroupValues<T>*>(staged) + 3 * lane;
    for (int i = 0; i < 3; ++i) {
      GroupValues<T> part;
      for (int k = 0; k < kGroup; ++k) part.values[k] = values[(4 * i + k) / 3][(4 * i + k) % 3];
      own[i] = part;
    }
    __syncwarp();
    auto* const data = reinterpret_cast<uint32_t*>(to.data) + int64_t{kWords} * first;
    store_words<kWords>(staged + lane, lane, kWords * (groups - first), data + lane);
    __syncwarp();
  } else if (first + lane < groups) {
    for (int c = 0; c < kChannels; ++c) {
      GroupValues<T> plane;
      for (int p = 0; p < kGroup; ++p) plane.values[p] = values[p][c];
      reinterpret_cast<GroupValues<T>*>(to.data + c * to.stride_c)[first + lane] = plane;
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
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const auto* const data = reinterpret_cast<const uint4*>(from) + int64_t{kLoads} * first + lane;
    const int count = kLoads * (groups - first);
    uint4 loaded[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      loaded[i] = lane + i * kWarp < count ? data[i * kWarp] : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) staged[lane + i * kWarp] = loaded[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint4 own = staged[kLoads * lane + i];
      words[4 * i] = own.x, words[4 * i + 1] = own.y;
      words[4 * i + 2] = own.z, words[4 * i + 3] = own.w;
    }
    __syncwarp();
  }

  // Stores what `load` loads.
  __device__ static void store(uint8_t* to, int first, int groups, uint4* staged,
                               const uint32_t (&words)[kWords]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      staged[kLoads * lane + i] =
          make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    }
    __syncwarp();
    auto* const data = reinterpret_cast<uint4*>(to) + int64_t{kLoads} * first + lane;
    const int count = kLoads * (groups - first);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (lane + i * kWarp < count) data[i * kWarp] = staged[lane + i * kWarp];
    }
    __syncwarp();
  }
};

}  // namespace orbbec
