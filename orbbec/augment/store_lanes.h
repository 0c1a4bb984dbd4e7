// Converts groups of finished floats to output values. Included by augment_rows.h, under its
// targets.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "augment.h"

namespace orbbec {

// Values processed together: whole vectors, few past the end of a row; for bytes, whole byte
// vectors.
constexpr int kLanes = 32, kStored = 64;

// Stores values without vectors.
struct ScalarStore {
  using Float = float;
  template <class Out>
  static void store_lanes(const float (&values)[kStored], Out* to) {
    for (int i = 0; i < kStored; ++i) store_vector(values[i], to + i);
  }
  template <class Out>
  static void store_vector(float v, Out* to) {
    *to = store<Out>(v);
  }
  static float quotient(float value, const ConstantDivisor& by) { return value / by.divisor; }
  // Lanes [begin, end) of `v`; the others are `fill`.
  static float with_fill(float v, float fill, int begin, int end) {
    return begin <= 0 && end > 0 ? v : fill;
  }
#if defined(__x86_64__)
  // 64 bytes, bypassing the caches.
  static void stream_line(char* to, const char* from) {
    for (int i = 0; i < 64; i += 16) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), half);
    }
  }
#endif
};

// The same values with vectors. Converting to int gives INT_MIN for what int cannot hold, like
// `round_to_int`.
template <class Simd>
struct VectorStore : ScalarStore {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  typedef unsigned Unsigned __attribute__((vector_size(sizeof(Int))));

  static void stream_line(char* to, const char* from) { Simd::stream_line(to, from); }

  template <class Out>
  static void store_lanes(const float (&values)[kStored], Out* to) {
    for (int i = 0; i < kStored; i += Simd::kLanes) store_vector(Simd::load(values + i), to + i);
  }

  static Float quotient(Float value, const ConstantDivisor& by) {
    const Float near = value * by.reciprocal;
    const Float rest = Simd::fused_multiply_add(near, Simd::all_lanes(-by.divisor), value);
    return Simd::fused_multiply_add(rest, Simd::all_lanes(by.reciprocal), near);
  }

  static Float with_fill(Float v, float fill, int begin, int end) {
    const Int lanes = Simd::lane_numbers();
    const Float from_begin = lanes >= begin ? v : Simd::all_lanes(fill);
    return lanes < end ? from_begin : Simd::all_lanes(fill);
  }

  static void store_vector(Float v, float* to) { Simd::store(to, v); }
  // `to` is aligned; bypasses the caches.
  static void stream_vector(Float v, float* to) { Simd::stream(to, v); }
  static void store_vector(Float v, uint8_t* to) {
    const Int rounded = Simd::round(v), from_zero = rounded < 0 ? Int{} : rounded;
    Simd::store_bytes_1(to, from_zero > 255 ? Int{} + 255 : from_zero);
  }
  // NaN keeps only its sign.
  static void store_vector(Float v, Half* to) {
    const Int bits = (Int)v, nan = (bits & kIntMin) | 0x7fc00000;
    Simd::store_halves(&to->bits, (Float)(v != v ? nan : bits));
  }
  static void store_vector(Float v, BFloat16* to) {
    const Unsigned bits = (Unsigned)v, rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    Simd::store_words(&to->bits, (Int)((v != v ? bits | 0x400000u : rounded) >> 16));
  }
};

}  // namespace orbbec
