#include "vector_warps.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "../executors/simd/vector_row.h"

namespace orbbec {

template <class Op>
void vector_row_avx2(const Op& op, int64_t n, int y, int) {
  VectorRow<Avx2, Op>(op, n, op.output[n]).run(y, 0, op.output.width);
}

ORBBEC_VECTOR_WARPS(vector_row_avx2)

}  // namespace orbbec
#endif
