// Pixel types, their computing types, and conversions: round half to even, saturate, NaN becomes 0
// in integers. Used by every sampler.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "common.h"

namespace orbbec {

constexpr int kIntMin = -2147483647 - 1;

// IEEE binary16 and bfloat16 storage; arithmetic is in float.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

// The unsigned integer of the size of T.
template <class T>
using WordOf =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

ORBBEC_HD uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

ORBBEC_HD float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Scales a float with the half's exponent field by 2^-112; the product is exact.
ORBBEC_HD float half_to_float(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(half.bits & 0x7fffu) << 13;
  const bool special = (half.bits & 0x7c00u) == 0x7c00u;  // infinity or NaN
  const uint32_t magnitude = special ? rest | 0x7f800000u : bits_of(float_of(rest) * 0x1p112f);
  return float_of(sign | magnitude);
}

ORBBEC_HD Half float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u)
    return {static_cast<uint16_t>(sign | 0x7c00u)};  // overflows past 65504
  if (magnitude <
      0x38800000u) {  // below 2^-14: adding 0.5 leaves the rounded subnormal in the low bits
    return {static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u))};
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return {static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13))};
}

ORBBEC_HD float bfloat16_to_float(BFloat16 value) {
  return float_of(static_cast<uint32_t>(value.bits) << 16);
}

ORBBEC_HD BFloat16 float_to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// The type a pixel of type T is computed in.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Round half to even, of what int can hold.
ORBBEC_HD int round_in_range(float value) {
#if defined(__CUDA_ARCH__)  // one instruction instead of two
  return __float2int_rn(value);
#else
  return static_cast<int>(rintf(value));
#endif
}

// Round half to even; what int cannot hold becomes INT_MIN, as on x86 but not in CUDA's own
// conversion.
ORBBEC_HD int round_to_int(float value) {
  return value >= -2147483648.0f && value < 2147483648.0f ? round_in_range(value) : kIntMin;
}
ORBBEC_HD int round_to_int(double value) {
#if defined(__CUDA_ARCH__)  // one instruction of the FP64 units: the conversion saturates
  constexpr int64_t kBeyond = 0x41dfffffffe00000;  // bits of 2^31 - 0.5; NaN is above
  const int64_t magnitude = __double_as_longlong(value) & ~(int64_t{1} << 63);
  return magnitude < kBeyond ? __double2int_rn(value) : kIntMin;
#endif
  const double rounded = rint(value);
  return rounded >= -2147483648.0 && rounded <= 2147483647.0 ? static_cast<int>(rounded) : kIntMin;
}

template <class F>
ORBBEC_HD int floor_to_int(F value) {
#if defined(__CUDA_ARCH__)  // fewer instructions: the conversion saturates
  if constexpr (std::is_same_v<F, float>) {
    const int saturated = __float2int_rd(value);
    return value < 2147483648.0f ? saturated : kIntMin;
  }
#endif
  const F floored = floor(value);
  return floored >= F(-2147483648.0) && floored < F(2147483648.0) ? static_cast<int>(floored)
                                                                  : kIntMin;
}

ORBBEC_HD int clamp_int(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}
ORBBEC_HD int saturate_int16(int value) { return clamp_int(value, -32768, 32767); }

// Sums of pixel coordinates wrap in two's complement.
ORBBEC_HD int wrapping_add(int a, int b) {
  return static_cast<int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

ORBBEC_HD float fused_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
ORBBEC_HD double fused_multiply_add(double a, double b, double c) { return fma(a, b, c); }

template <class T>
ORBBEC_HD Compute<T> load(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_to_float(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return bfloat16_to_float(value);
  } else {
    return static_cast<Compute<T>>(value);
  }
}

template <class T>
ORBBEC_HD Compute<T> difference(T a, T b) {
  return load(a) - load(b);
}

// round_to_int, saturated to 0 to `most`: what int cannot hold becomes 0.
template <class F>
ORBBEC_HD int round_and_saturate(F value, int most) {
#if defined(__CUDA_ARCH__)  // fewer instructions: from 2^31 on, the number is negative as int
  if constexpr (std::is_same_v<F, float>)
    return clamp_int(static_cast<int>(__float2uint_rn(value)), 0, most);
#endif
  return clamp_int(round_to_int(value), 0, most);
}
template <class F>
ORBBEC_HD int round_to_byte(F value) {
  return round_and_saturate(value, 255);
}

template <class T, class F>
ORBBEC_HD T store(F value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(round_to_byte(value));
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    return static_cast<uint16_t>(round_and_saturate(value, 65535));
  } else if constexpr (std::is_same_v<T, Half>) {
    return float_to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return float_to_bfloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// `yes` or `no` with bit operations: nested conditions would keep the compiler from vectorizing. A
// GPU selects in one instruction.
#if defined(__CUDA_ARCH__)
template <class V>
ORBBEC_HD V choose(bool condition, V yes, V no) {
  return condition ? yes : no;
}
#else
ORBBEC_HD int choose(bool condition, int yes, int no) {
  const int mask = -static_cast<int>(condition);
  return (yes & mask) | (no & ~mask);
}
ORBBEC_HD float choose(bool condition, float yes, float no) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return float_of((bits_of(yes) & mask) | (bits_of(no) & ~mask));
}
ORBBEC_HD double choose(bool condition, double yes, double no) {
  const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(condition);
  uint64_t bits[2];
  memcpy(&bits[0], &yes, sizeof(yes));
  memcpy(&bits[1], &no, sizeof(no));
  bits[0] = (bits[0] & mask) | (bits[1] & ~mask);
  memcpy(&yes, bits, sizeof(yes));
  return yes;
}
#endif

ORBBEC_HD void atomic_add(int64_t* sum, int64_t value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
#else
  __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
#endif
}

template <class T>
constexpr DType dtype_of_values() {
  if (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if (std::is_same_v<T, uint16_t>) return DType::kUInt16;
  if (std::is_same_v<T, Half>) return DType::kFloat16;
  if (std::is_same_v<T, BFloat16>) return DType::kBFloat16;
  return std::is_same_v<T, double> ? DType::kFloat64 : DType::kFloat32;
}

// Calls `run(T{})` with the type among `T, Others` whose values `dtype` has, which is one of them.
template <class T, class... Others, class Run>
auto dispatch_dtype(DType dtype, const Run& run) {
  if constexpr (sizeof...(Others) > 0) {
    if (dtype != dtype_of_values<T>()) return dispatch_dtype<Others...>(dtype, run);
  }
  return run(T{});
}

// Calls `launch` with the functor `Op<T>` of the arguments, which takes bytes and floats.
template <template <class> class Op, class Arguments, class Launch>
auto dispatch_functor(const Arguments& a, const Launch& launch) {
  return dispatch_dtype<uint8_t, Half, BFloat16, double, float>(
      a.dtype, [&](auto value) { return launch(Op<decltype(value)>(a)); });
}

// Calls `run(T{})` with any type of pixels.
template <class Run>
auto dispatch_any_dtype(DType dtype, const Run& run) {
  return dispatch_dtype<uint8_t, uint16_t, Half, BFloat16, double, float>(dtype, run);
}

}  // namespace orbbec
