#include "warpaffine_rows.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../core/simd_avx512.h"
#include "../core/linear_simd.h"

namespace orbbec {

void linear_row_avx512(const LinearBytes& op, int64_t n, int y, int) { LinearRow<Avx512, LinearBytes>(op, n).run(y); }
void linear_row_avx512(const LinearFloats& op, int64_t n, int y, int) { LinearRow<Avx512, LinearFloats>(op, n).run(y); }

}  // namespace orbbec
#endif
