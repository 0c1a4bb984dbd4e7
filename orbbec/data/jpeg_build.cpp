// Says how the libjpeg-turbo inside of _jpeg.abi3.so was built: an entry of a shared library, read
// by the doctor.
#include <cstddef>
#include <cstdio>

extern "C" {
#include <jpeglib.h>

// Gives 1 where libjpeg-turbo uses SIMD instructions, else 0.
__attribute__((visibility("default"))) int orbbec_jpeg_has_simd() {
#ifdef WITH_SIMD
  return 1;
#else
  return 0;
#endif
}
}
