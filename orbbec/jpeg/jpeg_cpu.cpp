#include "jpeg_strips.h"

namespace orbbec {

template <>
void jpeg_compression_on<JpegScalar>(const JpegArguments& arguments, const ParallelFor& parallel) {
  compress<ScalarColumns>(arguments, parallel);
}

void jpeg_compression_cpu(const JpegArguments& arguments, const ParallelFor& parallel) {
#if defined(__x86_64__)
  if (simd_level() == Simd::kAvx512) return jpeg_compression_on<JpegAvx512>(arguments, parallel);
  if (simd_level() == Simd::kAvx2) return jpeg_compression_on<JpegAvx2>(arguments, parallel);
#endif
  jpeg_compression_on<JpegScalar>(arguments, parallel);
}

}  // namespace orbbec
