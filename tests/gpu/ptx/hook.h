// Hands a launch of the emulated runtime to the executor. Included by tests/emulation/runtime.cpp.
#pragma once

#include "emulation/runtime.h"
#include "memory.h"

namespace orbbec::ptx {

// Runs the PTX of the kernel whose host function is `key`; cudaErrorLaunchFailure is a fault.
cudaError_t launch(const void* key, const emulation::Kernel& kernel, dim3 grid, dim3 block,
                   size_t shared_bytes);

// What the last failed launch ran into.
const char* last_fault();

}  // namespace orbbec::ptx
