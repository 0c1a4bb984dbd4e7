// A byte as a float that a byte permutation makes, without a conversion. Included by CUDA kernels.
#pragma once

#include <cuda_runtime.h>

#include "../core/scalar.h"

namespace orbbec {

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
  __device__ __forceinline__ BiasedFactor(float factor) : factor(factor), bias(-0x1p23f * factor) {
#ifdef __CUDA_ARCH__
    asm("" : "+f"(this->factor), "+f"(bias));  // computed once, not in every row
#endif
  }
};

// The product of the byte and the factor, rounded once.
__device__ __forceinline__ float operator*(BiasedByte byte, const BiasedFactor& by) {
  return fused_multiply_add(byte.biased, by.factor, by.bias);
}

}  // namespace orbbec
