// How finished floats become the values of an output, a group of them at a time. Included by
// augment_rows.h, under its targets.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "augment.h"

namespace orbbec {

// Values of a block at a time: whole vectors, few beyond the end of a row; of bytes whole vectors.
constexpr int kLanes = 32, kStored = 64;

// How a machine stores values unless it has a way of its own.
struct PlainStore {
  template <class Out>
  static void store_lanes(const float (&values)[kStored], Out* to) {
    for (int i = 0; i < kStored; ++i) to[i] = store<Out>(values[i]);
  }
#if defined(__x86_64__)
  // 64 bytes past the caches.
  static void stream_line(char* to, const char* from) {
    for (int i = 0; i < 64; i += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), part);
    }
  }
#endif
};

// Bytes on vectors, whose rounding makes what no int holds the least one, as `round_to_int` does.
template <class Simd>
struct VectorStore : PlainStore {
  using PlainStore::store_lanes;
  static void stream_line(char* to, const char* from) { Simd::stream_line(to, from); }
  static void store_lanes(const float (&values)[kStored], uint8_t* to) {
    using Int = typename Simd::Int;
    for (int i = 0; i < kStored; i += Simd::kLanes) {
      const Int rounded = Simd::round(Simd::load(values + i));
      const Int from_zero = rounded < 0 ? Int{} : rounded;
      Simd::store_bytes_1(to + i, from_zero > 255 ? Int{} + 255 : from_zero);
    }
  }
};

}  // namespace orbbec
