// Declares the warps that have vectorized rows, and chooses among them. Included by *_cpu.cpp, and
// by *_avx2.cpp and *_avx512.cpp, which instantiate them.
#pragma once

#include "../../core/warp.h"
#include "../executor_cpu.h"

namespace orbbec {

struct Avx2;
struct Avx512;
template <class Simd, class Op>
void vector_row(const Op& op, int64_t n, int y, int width);

template <class Op>
constexpr bool kHasVectorRow = Op::kIsLight && (std::is_same_v<typename Op::Value, uint8_t> ||
                                                std::is_same_v<typename Op::Value, float>);

template <class Op>
PixelRow<Op> fastest_row(Simd level) {
#if defined(__x86_64__)
  if constexpr (kHasVectorRow<Op>) {
    if (level == Simd::kAvx512) return vector_row<Avx512, Op>;
    if (level == Simd::kAvx2) return vector_row<Avx2, Op>;
  }
#endif
  return pixel_row<Op>(level);
}

}  // namespace orbbec
