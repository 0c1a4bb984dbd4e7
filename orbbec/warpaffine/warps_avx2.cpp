#include "vector_warps.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "../executors/simd/vector_row.h"

namespace orbbec {

ORBBEC_VECTOR_WARPS(Avx2)

}  // namespace orbbec
#endif
