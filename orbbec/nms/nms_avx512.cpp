#include "keeper_boxes.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../executors/simd/avx512.h"
#include "box_search.h"

namespace orbbec {

template int64_t search_boxes<Avx512>(const OverlapRule<float>&, const BoxColumns&, int64_t,
                                      const BoxItem&);

}  // namespace orbbec
#endif
