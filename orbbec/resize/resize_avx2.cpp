#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "rows_avx2.h"

namespace orbbec {

template <class Op>
void resize_strip_avx2(const Op& op, int64_t n, int begin, int end) {
  resize_strip<Avx2Rows, Op>(op, n, begin, end);
}

template void resize_strip_avx2(const Resize<uint8_t, FixedLinear>& op, int64_t n, int, int);
template void resize_strip_avx2(const Resize<uint8_t, AreaTaps<uint8_t>>& op, int64_t n, int, int);
template void resize_strip_avx2(const Resize<uint8_t, PillowFixed>& op, int64_t n, int, int);

}  // namespace orbbec
#endif
