#include "kept_boxes.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "box_search.h"

namespace orbbec {

int64_t search_boxes_avx2(const OverlapRule<float>& rule, const BoxColumns& kept, int64_t begin,
                          const BoxItem& item) {
  return BoxSearcher<Avx2>::run(rule, kept, begin, item);
}

}  // namespace orbbec
#endif
