#include "matrix_columns.h"
#include "sweep.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../../executors/simd/avx2.h"
#include "vector_matrix.h"
#include "vector_sweep.h"

namespace orbbec {

template SoftNmsBest<float> vector_sweep<Avx2>(const SoftNmsRule<float>&,
                                               const SoftNmsColumns<float>&, int,
                                               const Box<float>&);

template float vector_overlap<Avx2>(const MatrixNms<float>&, const MatrixNmsColumns&, int);
template float vector_decay<Avx2>(const MatrixNms<float>&, const MatrixNmsColumns&, int);

}  // namespace orbbec
#endif
