// Matrix NMS of floats with vectors: a box and the boxes before it, many at a time. Included by
// soft_nms_cpu.cpp and the vectorized files.
#pragma once

#include "soft_nms.h"

namespace orbbec {

// The boxes as a structure of arrays, which go on with empty boxes up to a whole vector.
struct MatrixNmsColumns {
  const float *x1, *y1, *x2, *y2, *area;
  const float* overlaps;  // MatrixNms::overlaps
  const int64_t* labels;  // null where all boxes have one label

  ORBBEC_HD Box<float> box(int i) const { return {x1[i], y1[i], x2[i], y2[i]}; }
};

// The highest overlap of box i, or its decay.
using MatrixNmsItem = float (*)(const MatrixNms<float>& rule, const MatrixNmsColumns& columns,
                                int i);

struct Avx2;
struct Avx512;
template <class Simd>
float vector_overlap(const MatrixNms<float>& rule, const MatrixNmsColumns& columns, int i);
template <class Simd>
float vector_decay(const MatrixNms<float>& rule, const MatrixNmsColumns& columns, int i);

}  // namespace orbbec
