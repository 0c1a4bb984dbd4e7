#include "warpaffine_rows.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "../core/simd_avx2.h"
#include "../core/linear_simd.h"

namespace orbbec {

void linear_row_avx2(const LinearBytes& op, int64_t n, int y, int) { LinearRow<Avx2, LinearBytes>(op, n).run(y); }
void linear_row_avx2(const LinearFloats& op, int64_t n, int y, int) { LinearRow<Avx2, LinearFloats>(op, n).run(y); }

}  // namespace orbbec
#endif
