// Declares the warps that have vectorised rows, and chooses among them. Included by *_cpu.cpp, and
// by *_avx2.cpp and *_avx512.cpp, which define them.
#pragma once

#include "../../core/warp.h"
#include "../executor_cpu.h"

namespace orbbec {

template <class Op>
void vector_row_avx2(const Op& op, int64_t n, int y, int width);
template <class Op>
void vector_row_avx512(const Op& op, int64_t n, int y, int width);

template <class Op>
constexpr bool kHasVectorRow = Op::kIsLight && (std::is_same_v<typename Op::Value, uint8_t> ||
                                                std::is_same_v<typename Op::Value, float>);

template <class Op>
PixelRow<Op> fastest_row(Simd level) {
#if defined(__x86_64__)
  if constexpr (kHasVectorRow<Op>) {
    if (level == Simd::kAvx512) return vector_row_avx512<Op>;
    if (level == Simd::kAvx2) return vector_row_avx2<Op>;
  }
#endif
  return pixel_row<Op>(level);
}

}  // namespace orbbec
