// Finds kernels that use addresses of the host. Before a launch such an address in an argument is
// replaced by one that nothing can be read from: what is left over in an argument and never used
// does no harm, and a use is named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace orbbec::lazy {

// Replaces the addresses of the host in argument `index` of a kernel, of `bytes` bytes.
void trap_host_addresses(void* argument, size_t bytes, size_t index);

// What was replaced by this address; empty: it is no trap.
std::string trapped(uintptr_t address);

}  // namespace orbbec::lazy
