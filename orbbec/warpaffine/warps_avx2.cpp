// Rows of AVX2 vectors of warp_affine, warp_perspective and remap.
#include "../core/perspective_map.h"
#include "../executors/simd/vector_rows.h"
#include "remap/remap.h"
#include "warpaffine.h"

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

#define ORBBEC_ROW(Value, Transform, Sampler) \
  template void vector_row_avx2(const Warp<Value, Transform<float>, Sampler>&, int64_t, int, int);
#define ORBBEC_ROWS(Transform)                   \
  ORBBEC_ROW(uint8_t, Transform, NearestSampler) \
  ORBBEC_ROW(uint8_t, Transform, LinearSampler)  \
  ORBBEC_ROW(float, Transform, NearestSampler)   \
  ORBBEC_ROW(float, Transform, LinearSampler)

ORBBEC_ROWS(AffineTransform)
ORBBEC_ROWS(PerspectiveTransform)
ORBBEC_ROWS(CoordinateField)

#undef ORBBEC_ROWS
#undef ORBBEC_ROW

}  // namespace orbbec
#endif
