// ORBBEC_HD for what device code calls from several places: not repeated there, so that a kernel
// whose time is that of fetching its code is small. Included by core/philox.h.
#pragma once

#include "common.h"

#if defined(__CUDACC__)
#define ORBBEC_HD_CALLED inline __host__ __device__ __noinline__
#else
#define ORBBEC_HD_CALLED inline
#endif
