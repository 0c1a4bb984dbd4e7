// Reductions and scans over the threads of a warp and of a block, after cub::WarpReduce, WarpScan,
// BlockReduce and BlockScan. Included by CUDA kernels.
//
// CUB itself is not used: it is written for nvcc, and the kernels also run on the emulated device,
// which a host compiler builds; and the order of its float sums is not specified.
//
// All threads of a warp take part in the functions of a warp, all of a block in those of a block.
// blockDim.x is a multiple of the warp.
#pragma once

#include <cstring>
#include <type_traits>

#include "../../core/common.h"
#include "launch.h"

namespace orbbec {

__device__ __forceinline__ int lane_id() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ __forceinline__ int warp_id() {
  return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x) / kWarp;
}

// The value of lane `lane_id() ^ mask`; T is any type of whole words.
template <class T>
__device__ __forceinline__ T shuffle_xor(const T& value, int mask) {
  if constexpr (std::is_arithmetic_v<T>) return __shfl_xor_sync(kAllLanes, value, mask);
  uint32_t words[sizeof(T) / 4];
  static_assert(sizeof(words) == sizeof(T));
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (uint32_t& word : words) word = __shfl_xor_sync(kAllLanes, word, mask);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// In every lane. Lane i is added to lane i + 16 first, to lane i + 1 last.
template <class T, class Op>
__device__ __forceinline__ T warp_reduce(T value, const Op& op) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = op(value, shuffle_xor(value, mask));
  return value;
}
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
  return warp_reduce(value, [](T a, T b) { return a + b; });
}
template <class T>
__device__ __forceinline__ T warp_min(T value) {
  return warp_reduce(value, [](T a, T b) { return smaller(a, b); });
}
template <class T>
__device__ __forceinline__ T warp_max(T value) {
  return warp_reduce(value, [](T a, T b) { return larger(a, b); });
}

// The sum of the lanes up to this one, and of those before it.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, distance);
    if (lane_id() >= distance) value += before;
  }
  return value;
}
template <class T>
__device__ __forceinline__ T warp_exclusive_sum(T value) {
  return warp_inclusive_sum(value) - value;
}

// In every thread. `warps`: shared memory for a value per warp, which may be written again after
// the next barrier. `identity` changes no value.
template <class T, class Op>
__device__ __forceinline__ T block_reduce(T value, const T& identity, const Op& op, T* warps) {
  value = warp_reduce(value, op);
  if (lane_id() == 0) warps[warp_id()] = value;
  __syncthreads();
  const bool is_warp = lane_id() * kWarp < static_cast<int>(blockDim.x * blockDim.y);
  return warp_reduce(is_warp ? warps[lane_id()] : identity, op);
}

// The sum of the threads up to this one; `total` is that of the block. `warps`: as above, a value
// for each of kWarps.
template <class T, int kWarps>
__device__ __forceinline__ T block_inclusive_sum(T value, T (&warps)[kWarps], T& total) {
  value = warp_inclusive_sum(value);
  if (lane_id() == kWarp - 1) warps[warp_id()] = value;
  __syncthreads();
  total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp_id()) value += warps[w];
    total += warps[w];
  }
  return value;
}

}  // namespace orbbec
