#include "keeper_boxes.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "box_search.h"

namespace orbbec {

template int64_t search_boxes<Avx2>(const OverlapRule<float>&, const BoxColumns&, int64_t,
                                    const BoxItem&);

}  // namespace orbbec
#endif
