#include "machines.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "columns_avx512.h"
#include "jpeg_strips.h"

namespace orbbec {

template <>
void jpeg_compression_on<JpegAvx512>(const JpegArguments& arguments, const ParallelFor& parallel) {
  compress<Avx512Columns>(arguments, parallel);
}

}  // namespace orbbec
#endif
