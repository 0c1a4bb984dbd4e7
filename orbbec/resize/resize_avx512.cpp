#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw,prefer-vector-width=512")
#include "../executors/simd/avx512.h"
#include "rows_bytes.h"

namespace orbbec {

template <class Op>
void resize_strips_avx512(const Op& op, int64_t begin, int64_t end) {
  resize_byte_strips<Avx512>(op, begin, end);
}

#define ORBBEC_INSTANTIATE(...) \
  template void resize_strips_avx512(const Resize<uint8_t, __VA_ARGS__>& op, int64_t, int64_t)

ORBBEC_INSTANTIATE(FixedLinear);
ORBBEC_INSTANTIATE(ExactLinear<uint8_t>);
ORBBEC_INSTANTIATE(FixedTaps<true>);
ORBBEC_INSTANTIATE(FixedTaps<false>);
ORBBEC_INSTANTIATE(AreaTaps<uint8_t>);

}  // namespace orbbec
#endif
