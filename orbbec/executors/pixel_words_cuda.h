// Bytes of neighboring pixels, loaded and stored as words. Included by CUDA kernels.
#pragma once

#include "launch.h"

namespace orbbec {

// Byte i of a word.
__device__ __forceinline__ uint32_t byte_of(uint32_t word, int i) {
  return __byte_perm(word, 0, 0x4440 + i);
}

// The kBytes bytes from `first` on, by aligned loads of 8 or 4 bytes: these hold up to 7 or 3 bytes
// before and after.
template <int kBytes, bool kPairs = (kBytes > 12)>
__device__ __forceinline__ void load_bytes(const uint8_t* first,
                                           uint32_t (&words)[kBytes / 4 + 1]) {
  constexpr unsigned kAligned = kPairs ? 8 : 4;
  constexpr int kWords = kBytes / 4 + 1, kLoads = (kBytes + 2 * kAligned - 2) / kAligned;
  const auto address = reinterpret_cast<uintptr_t>(first);
  const auto skipped = static_cast<unsigned>(address);  // modulo kAligned, where it is used
  const uintptr_t aligned = address & ~uintptr_t{kAligned - 1};
  uint32_t loaded[kWords + 2];
  if constexpr (kPairs) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const uint2 pair = reinterpret_cast<const uint2*>(aligned)[i];
      loaded[2 * i] = pair.x;
      loaded[2 * i + 1] = pair.y;
    }
#pragma unroll
    for (int i = 0; i + 1 < 2 * kLoads; ++i) loaded[i] = skipped & 4 ? loaded[i + 1] : loaded[i];
  } else {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) loaded[i] = reinterpret_cast<const uint32_t*>(aligned)[i];
  }
#pragma unroll
  for (int i = 0; 4 * i < kBytes; ++i) {
    words[i] = __funnelshift_r(loaded[i], loaded[i + 1], 8 * skipped);
  }
}

// Stores pixels of a row as words: one pixel in each of kWide lanes. Word i begins in pixel 4 i /
// 3, after its i % 3 first bytes.
template <int kWide>
struct WordStore {
  static_assert(kWide % 4 == 0);
  unsigned selected;  // bytes of the lane's two pixels

  __device__ __forceinline__ WordStore() {
    const unsigned skipped = threadIdx.x % kWide % 3;
    selected = skipped == 0 ? 0x4210 : skipped == 1 ? 0x5421 : 0x6542;
  }

  // Whether the lane has a word, where `left` pixels of the row are to come.
  __device__ __forceinline__ static bool has_word(int left) {
    const int lane = static_cast<int>(threadIdx.x) % kWide;
    return lane < kWide * 3 / 4 && 4 * lane < 3 * left;
  }

  // `to`: the lane's word, aligned to 4 bytes. All lanes of the warp call it.
  __device__ __forceinline__ void store(uint8_t* to, const uint32_t (&pixel)[3],
                                        bool has_word) const {
    const int lane = threadIdx.x % kWide, from = lane + lane / 3;
    const uint32_t own = __byte_perm(__byte_perm(pixel[0], pixel[1], 0x0040), pixel[2], 0x0410);
    const uint32_t begin = __shfl_sync(kAllLanes, own, from, kWide);
    const uint32_t end = __shfl_sync(kAllLanes, own, from + 1, kWide);
    if (has_word) *reinterpret_cast<uint32_t*>(to) = __byte_perm(begin, end, selected);
  }
};

}  // namespace orbbec
