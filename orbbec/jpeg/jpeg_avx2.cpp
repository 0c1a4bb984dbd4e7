#include "targets.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Code above is compiled for every target, code below for this one only.
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
