#include "sweep.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../../executors/simd/avx512.h"
#include "vector_sweep.h"

namespace orbbec {

template SoftNmsBest<float> vector_sweep<Avx512>(const SoftNmsRule<float>&,
                                                 const SoftNmsColumns<float>&, int,
                                                 const Box<float>&);

}  // namespace orbbec
#endif
