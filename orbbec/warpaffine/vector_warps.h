// The warps that have vectorised rows. Included by warps_avx2.cpp and warps_avx512.cpp.
#pragma once

#include "../core/perspective_transform.h"
#include "../executors/simd/vector_rows.h"
#include "remap/remap.h"
#include "warpaffine.h"

// Instantiates the function template `row` for one warp, for one transform, for all.
#define ORBBEC_VECTOR_WARP(row, Value, Transform, Sampler) \
  template void row(const Warp<Value, Transform<float>, Sampler>&, int64_t, int, int);
#define ORBBEC_VECTOR_WARPS_OF(row, Transform)                \
  ORBBEC_VECTOR_WARP(row, uint8_t, Transform, NearestSampler) \
  ORBBEC_VECTOR_WARP(row, uint8_t, Transform, LinearSampler)  \
  ORBBEC_VECTOR_WARP(row, float, Transform, NearestSampler)   \
  ORBBEC_VECTOR_WARP(row, float, Transform, LinearSampler)
#define ORBBEC_VECTOR_WARPS(row)                    \
  ORBBEC_VECTOR_WARPS_OF(row, AffineTransform)      \
  ORBBEC_VECTOR_WARPS_OF(row, PerspectiveTransform) \
  ORBBEC_VECTOR_WARPS_OF(row, CoordinateField)
