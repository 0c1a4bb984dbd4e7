#include "sweep.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../../executors/simd/avx2.h"
#include "vector_sweep.h"

namespace orbbec {

SoftNmsBest<float> soft_nms_sweep_avx2(const SoftNmsRule<float>& rule,
                                       const SoftNmsColumns<float>& columns, int count,
                                       const Box<float>& best) {
  return vector_sweep<Avx2>(rule, columns, count, best);
}

}  // namespace orbbec
#endif
