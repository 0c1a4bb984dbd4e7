// The warps that have vectorized rows. Included by warps_avx2.cpp and warps_avx512.cpp.
#pragma once

#include "../core/perspective_transform.h"
#include "../executors/simd/vector_rows.h"
#include "remap/remap.h"
#include "warpaffine.h"

// Instantiates the rows of one warp, of one transform, of all.
#define ORBBEC_VECTOR_WARP(Simd, Value, Transform, Sampler)                                        \
  template void vector_row<Simd>(const Warp<Value, Transform<float>, Sampler>&, int64_t, int, int, \
                                 int);
#define ORBBEC_VECTOR_WARPS_OF(Simd, Transform)                \
  ORBBEC_VECTOR_WARP(Simd, uint8_t, Transform, NearestSampler) \
  ORBBEC_VECTOR_WARP(Simd, uint8_t, Transform, LinearSampler)  \
  ORBBEC_VECTOR_WARP(Simd, uint8_t, Transform, CubicSampler)   \
  ORBBEC_VECTOR_WARP(Simd, float, Transform, NearestSampler)   \
  ORBBEC_VECTOR_WARP(Simd, float, Transform, LinearSampler)    \
  ORBBEC_VECTOR_WARP(Simd, float, Transform, CubicSampler)
#define ORBBEC_VECTOR_WARPS(Simd)                    \
  ORBBEC_VECTOR_WARPS_OF(Simd, AffineTransform)      \
  ORBBEC_VECTOR_WARPS_OF(Simd, PerspectiveTransform) \
  ORBBEC_VECTOR_WARPS_OF(Simd, CoordinateField)
