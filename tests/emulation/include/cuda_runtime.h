// A host substitute for the CUDA runtime, with which a C++ compiler builds .cu files and the CPU
// runs them. It holds what orbbec's kernels use; add what a new kernel needs.
// tests/emulation/README.md says what it catches and what it cannot.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// Blocks run one after another, so one copy serves them all. The race build uses thread-local
// storage only because that gathers all such arrays in one known range.
#ifdef ORBBEC_EMULATION_RACES
#define __shared__ static thread_local
#else
#define __shared__ static
#endif

#include "emulation/atomics.h"
#include "emulation/block.h"
#include "emulation/intrinsics.h"
#include "emulation/runtime.h"
#include "emulation/vector_types.h"
#include "emulation/warp.h"
