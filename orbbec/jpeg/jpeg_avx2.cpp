#include "machines.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "columns_avx2.h"
#include "jpeg_strips.h"

namespace orbbec {

template <>
void jpeg_compression_on<JpegAvx2>(const JpegArguments& arguments, const ParallelFor& parallel) {
  compress<Avx2Columns>(arguments, parallel);
}

}  // namespace orbbec
#endif
