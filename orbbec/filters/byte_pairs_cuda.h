// Pairs of bytes that are sorted at once. Included by median_cuda.cu.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace orbbec {

// Two bytes of 16 bits each. As float16 they are subnormal numbers, which differ exactly.
struct BytePair {
  uint32_t bits;
};

// max(x - y, 0)
__device__ inline uint32_t excess(BytePair x, BytePair y) {
  __half2 a, b;
  memcpy(&a, &x, sizeof(a));
  memcpy(&b, &y, sizeof(b));
  const __half2 above = __hsub2_sat(a, b);
  uint32_t difference;
  memcpy(&difference, &above, sizeof(difference));
  return difference;
}

__device__ inline void sort_two(BytePair& low, BytePair& high) {
  const uint32_t difference = excess(low, high);
  low.bits -= difference;
  high.bits += difference;
}

// Overload of the function in median_rows.h: ptxas adds three numbers at once.
__device__ inline void insert(BytePair& low, BytePair& value, BytePair& high) {
  const uint32_t below = excess(low, value), above = excess(value, high);
  low.bits -= below;
  high.bits += above;
  value.bits += below - above;
}

// The pairs of byte i of `first` and byte i of `second`.
__device__ inline void pack_pairs(uint32_t first, uint32_t second, BytePair* pairs) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const uint32_t both = __byte_perm(first, second, i == 0 ? 0x5410 : 0x7632);
    pairs[i].bits = both & 0x00ff00ffu;
    pairs[i + 1].bits = __byte_perm(both, 0, 0x4341);
  }
}

// The reverse of it.
__device__ inline void unpack_pairs(const BytePair* pairs, uint32_t& first, uint32_t& second) {
  const uint32_t left = __byte_perm(pairs[0].bits, pairs[1].bits, 0x6240);
  const uint32_t right = __byte_perm(pairs[2].bits, pairs[3].bits, 0x6240);
  first = __byte_perm(left, right, 0x5410);
  second = __byte_perm(left, right, 0x7632);
}

}  // namespace orbbec
