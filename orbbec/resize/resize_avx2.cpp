#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "pillow_strips.h"
#include "rows_avx2.h"

namespace orbbec {

template <class Op>
void resize_strips_avx2(const Op& op, int64_t begin, int64_t end) {
  resize_strips<Avx2Rows, Op>(op, begin, end);
}

template void resize_strips_avx2(const Resize<uint8_t, FixedLinear>& op, int64_t, int64_t);
template void resize_strips_avx2(const Resize<uint8_t, AreaTaps<uint8_t>>& op, int64_t, int64_t);

void resize_pillow_strips_avx2(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end) {
  resize_pillow_strips(op, begin, end);
}

}  // namespace orbbec
#endif
