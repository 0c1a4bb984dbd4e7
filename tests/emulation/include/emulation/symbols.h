// Names of kernels. Included by limits.cpp and by tests/gpu/ptx/hook.cpp.
#pragma once

#include <string>

namespace orbbec::emulation {

// Without parameters, namespaces of the project and unnamed ones: the compilers mangle unnamed
// namespaces differently. tools/machine_code/cubins.py shortens names in the same way.
std::string short_name(const std::string& mangled);

// The mangled name of a function of this library; empty if it is none.
std::string symbol_of(const void* function);

}  // namespace orbbec::emulation
