// Bytes in words: permuted, loaded from any address, and stored as RGB pixels. Included by CUDA
// kernels.
#pragma once

#include "../../core/opaque.h"
#include "../../core/scalar.h"
#include "warp.h"

namespace orbbec {

// Byte i of a word.
__device__ __forceinline__ uint32_t byte_of(uint32_t word, int i) {
  return __byte_perm(word, 0, 0x4440 + i);
}

// Byte kByte of four words, that of `a` lowest.
template <int kByte = 0>
__device__ __forceinline__ uint32_t pack_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  constexpr unsigned kSelected = 0x0040 + 0x11 * kByte;
  return __byte_perm(__byte_perm(a, b, kSelected), __byte_perm(c, d, kSelected), 0x5410);
}

// Word i of `to`: four bytes from byte 4 i + skip of `from` on, for skip modulo 4. May be in place.
template <int kWords>
__device__ __forceinline__ void shift_bytes(const uint32_t* from, unsigned skip, uint32_t* to) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) to[i] = __funnelshift_r(from[i], from[i + 1], 8 * skip);
}

// Four bytes from any address; reads up to 3 bytes before and after.
__device__ __forceinline__ uint32_t load_word(const uint8_t* from) {
  const unsigned skip = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from) & 3);
  const auto* const words = reinterpret_cast<const uint32_t*>(from - skip);
  return __funnelshift_r(words[0], words[skip != 0 ? 1 : 0], 8 * skip);
}

// The kBytes bytes from `first` on, by aligned loads of 8 or 4 bytes: these read up to 8 or 4 bytes
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
  shift_bytes<(kBytes + 3) / 4>(loaded, skipped, words);
}

// Stores RGB pixels of a row as words: one pixel in each of kWide lanes. Word i begins in pixel 4 i
// / 3, after its i % 3 first bytes.
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
    const uint32_t packed = __byte_perm(__byte_perm(pixel[0], pixel[1], 0x0040), pixel[2], 0x0410);
    const uint32_t begin = __shfl_sync(kAllLanes, packed, from, kWide);
    const uint32_t end = __shfl_sync(kAllLanes, packed, from + 1, kWide);
    if (has_word) *reinterpret_cast<uint32_t*>(to) = __byte_perm(begin, end, selected);
  }
};

// A byte as a float that a byte permutation makes, without a conversion.
struct BiasedByte {
  float biased;  // 2^23 + the byte

  BiasedByte() = default;
  // Byte i of `word`.
  __device__ __forceinline__ BiasedByte(uint32_t word, int i) {
    biased = float_of(__byte_perm(word, 0x4b000000u, 0x7550 + i));
  }
};

// Exact, as all numbers are whole.
__device__ __forceinline__ float load(BiasedByte byte) { return byte.biased - 0x1p23f; }
__device__ __forceinline__ float difference(BiasedByte a, BiasedByte b) {
  return a.biased - b.biased;
}

// A factor of biased bytes; 2^23 times it is exact.
struct BiasedFactor {
  float factor, bias;

  BiasedFactor() = default;
  // Opaque, so that they are computed once, not in every row.
  __device__ __forceinline__ BiasedFactor(float factor)
      : factor(opaque(factor)), bias(opaque(-0x1p23f * factor)) {}
};

// The product of the byte and the factor, rounded once.
__device__ __forceinline__ float operator*(BiasedByte byte, const BiasedFactor& by) {
  return fused_multiply_add(byte.biased, by.factor, by.bias);
}

}  // namespace orbbec
