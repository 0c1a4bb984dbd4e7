#include "vector_warps.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../executors/simd/avx512.h"
#include "../executors/simd/vector_row.h"

namespace orbbec {

ORBBEC_VECTOR_WARPS(Avx512)

}  // namespace orbbec
#endif
