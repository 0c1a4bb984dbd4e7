#include "machines.h"

#if defined(__x86_64__)
#include <immintrin.h>
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "shorts_avx2.h"

namespace orbbec {

template <>
Decoded decode_jpeg_on<JpegAvx2>(const DecodeArguments& arguments) {
  return StripDecoder<Avx2Shorts>(arguments).run();
}

}  // namespace orbbec
#endif
