#include "sweep.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../../executors/simd/avx512.h"
#include "vector_sweep.h"

namespace orbbec {

SoftNmsBest<float> soft_nms_sweep_avx512(const SoftNmsRule<float>& rule,
                                         const SoftNmsColumns<float>& columns, int count,
                                         const Box<float>& best) {
  return vector_sweep<Avx512>(rule, columns, count, best);
}

}  // namespace orbbec
#endif
