// Used by every header of core/: the marker of functions for host and device, index types, and the
// enums that bindings pass to kernels. Includes neither torch nor the CUDA runtime.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define ORBBEC_HD __host__ __device__ __forceinline__
#else
#define ORBBEC_HD inline __attribute__((always_inline))
#endif

// Before a loop: do not unroll it in device code, where many taps would not fit the registers.
#if defined(__CUDA_ARCH__)
#define ORBBEC_ROLLED _Pragma("unroll 1")
#else
#define ORBBEC_ROLLED
#endif

namespace orbbec {

enum class DType { kUInt8, kUInt16, kFloat16, kBFloat16, kFloat32, kFloat64 };

enum class Interpolation { kNearest, kLinear, kCubic, kLanczos4 };

// Which OpenCV arithmetic: the float kernels of 5.x or the fixed-point kernels of 4.x.
enum class Arithmetic { kCv2_5, kCv2_4 };

// values[i] for an index that device code does not know when it is compiled. A GPU has no registers
// with computed numbers: indexed directly, the array would be in local memory.
template <class T, int kSize>
ORBBEC_HD T element(const T (&values)[kSize], int i) {
#if defined(__CUDA_ARCH__)
  T value = values[0];
#pragma unroll
  for (int k = 1; k < kSize; ++k) value = i == k ? values[k] : value;
  return value;
#else
  return values[i];
#endif
}

// V is a number or a vector of numbers.
template <class V>
ORBBEC_HD V smaller(V a, V b) {
  return a < b ? a : b;
}
template <class V>
ORBBEC_HD V larger(V a, V b) {
  return a > b ? a : b;
}
ORBBEC_HD int clamp_to_size(int64_t value, int size) {
  return static_cast<int>(value < 0 ? 0 : value < size ? value : size);
}
template <class V>
ORBBEC_HD V magnitude(V a) {
  return larger(a, -a);
}

}  // namespace orbbec
