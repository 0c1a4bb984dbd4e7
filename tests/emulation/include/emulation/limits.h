// Whether the devices that the kernels are built for would accept a launch. Included by
// runtime.cpp.
#pragma once

#include <cstddef>
#include <string>

namespace orbbec::emulation {

struct LaunchSize {
  unsigned threads;        // of a block
  size_t shared_bytes;     // dynamic
  size_t argument_bytes;   // without padding
  size_t asked_shared;     // what cudaFuncSetAttribute allows, 0 if it was not called
  size_t reported_opt_in;  // of the emulated device
};

// Why an architecture would refuse to launch `kernel`; empty if none would.
std::string refusal(const void* kernel, const LaunchSize& size);

}  // namespace orbbec::emulation
