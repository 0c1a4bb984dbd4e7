#include "targets.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "shorts_avx2.h"

namespace orbbec {

template <>
Decoded decode_jpeg_on<JpegAvx2>(const DecodeArguments& arguments) {
  return StripDecoder<Avx2Shorts>(arguments).run();
}

}  // namespace orbbec
#endif
