#include "strips.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512vnni")
#include "pillow_avx512.h"
#include "pillow_strips.h"

namespace orbbec {

void resize_pillow_strips_vnni(const Resize<uint8_t, PillowFixed>& op, int64_t begin, int64_t end) {
  resize_pillow_strips<PillowAvx512>(op, begin, end);
}

}  // namespace orbbec
#endif
