// Declares the warps that have vectorized rows. Included by warp_rows_cpu.h, and by *_avx2.cpp and
// *_avx512.cpp, which instantiate them.
#pragma once

#include "../../core/warp.h"
#include "../executor_cpu.h"

namespace orbbec {

struct Avx2;
struct Avx512;
// Columns [begin, end) of an output row, `begin` a multiple of kRowBlock.
template <class Op>
using WarpRow = void (*)(const Op& op, int64_t n, int y, int begin, int end);
template <class Simd, class Op>
void vector_row(const Op& op, int64_t n, int y, int begin, int end);

template <class Op>
constexpr bool kHasVectorRow =
    (Op::kIsLight || std::is_same_v<typename Op::Sampler, CubicSampler>) &&
    (std::is_same_v<typename Op::Value, uint8_t> || std::is_same_v<typename Op::Value, float>);

}  // namespace orbbec
