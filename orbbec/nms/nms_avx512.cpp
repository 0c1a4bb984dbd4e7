#include "kept_boxes.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../core/simd_avx512.h"
#include "box_search.h"

namespace orbbec {

int64_t search_boxes_avx512(const OverlapRule<float>& rule, const BoxColumns& kept, int64_t begin,
                            const BoxItem& item) {
  return BoxSearcher<Avx512>::run(rule, kept, begin, item);
}

}  // namespace orbbec
#endif
