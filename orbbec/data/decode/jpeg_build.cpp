// Reports how the libjpeg-turbo in _jpeg.abi3.so was built. Called by the doctor.
#include <cstddef>
#include <cstdio>

extern "C" {
#include <jpeglib.h>

// Returns 1 if libjpeg-turbo uses SIMD instructions, else 0.
__attribute__((visibility("default"))) int orbbec_jpeg_has_simd() {
#ifdef WITH_SIMD
  return 1;
#else
  return 0;
#endif
}
}
