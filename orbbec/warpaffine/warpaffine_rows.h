// The vector rows of warp_affine, one set for each instruction set. Included by warpaffine_cpu.cpp and by the files that
// define them.
#pragma once

#include "../core/executor_cpu.h"
#include "warpaffine.h"

namespace orbbec {

using LinearBytes = Warp<uint8_t, AffineMap<float>, LinearSampler>;
using LinearFloats = Warp<float, AffineMap<float>, LinearSampler>;

void linear_row_avx2(const LinearBytes& op, int64_t n, int y, int);
void linear_row_avx2(const LinearFloats& op, int64_t n, int y, int);
void linear_row_avx512(const LinearBytes& op, int64_t n, int y, int);
void linear_row_avx512(const LinearFloats& op, int64_t n, int y, int);

}  // namespace orbbec
