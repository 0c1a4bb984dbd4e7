// The host calls of CUDA's runtime on the lazy device. A cudaStream_t is the number of a stream.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "emulation/runtime.h"
#include "memory.h"
#include "queue.h"
#include "traps.h"

namespace orbbec::lazy {

namespace {

using emulation::remember;

int number_of(cudaStream_t stream) { return static_cast<int>(reinterpret_cast<intptr_t>(stream)); }

template <class Call>
cudaError_t attempted(const Call& call) {
  try {
    call();
    return cudaSuccess;
  } catch (const Refused& refused) {
    std::fprintf(stderr, "lazy device: %s\n", refused.what());
    return remember(cudaErrorStreamCaptureUnsupported);
  }
}

bool is_pageable(const void* address) {
  return !memory().owns(address) && memory().pinned_begin(address) == nullptr;
}

// As CUDA: pageable memory is read before the call returns, and written before it returns.
void copy(void* to, const void* from, size_t bytes, int stream) {
  if (bytes == 0) return;
  if (thread_captures() && (is_pageable(to) || is_pageable(from))) {
    throw Refused("cudaMemcpyAsync: memory is not page-locked, while a stream is capturing");
  }
  std::shared_ptr<std::vector<char>> kept;
  if (is_pageable(from)) {
    const auto* const source = static_cast<const char*>(from);
    kept = std::make_shared<std::vector<char>>(source, source + bytes);
  }
  push(stream, {"cudaMemcpyAsync"},
       [=] { std::memcpy(to, kept == nullptr ? from : kept->data(), bytes); });
  for (const void* const end : {static_cast<const void*>(to), from}) {
    if (void* const begin = memory().pinned_begin(end)) memory().use_pinned(begin, stream);
  }
  if (is_pageable(to))
    host_waits_for_stream(stream, Wait::kAsked, "cudaMemcpyAsync to pageable memory");
}

// The arguments of a launch, as CUDA keeps them.
struct Launch {
  emulation::Kernel kernel;
  std::vector<std::unique_ptr<std::max_align_t[]>> copies;
  std::vector<void*> values;

  explicit Launch(const emulation::Kernel& given) : kernel(given) {
    for (size_t i = 0; given.sizes[i] != 0; ++i) {
      const size_t units = given.sizes[i] / sizeof(std::max_align_t) + 1;
      copies.push_back(std::make_unique<std::max_align_t[]>(units));
      std::memcpy(copies.back().get(), given.values[i], given.sizes[i]);
      trap_host_addresses(copies.back().get(), given.sizes[i], i);
      values.push_back(copies.back().get());
    }
    kernel.values = values.data();
  }
};

std::string symbol_of(const void* function) {
  Dl_info library{};
  if (dladdr(function, &library) == 0) return "a kernel";
  const auto base = reinterpret_cast<uintptr_t>(library.dli_fbase);
  const std::string command = std::string("nm -C --defined-only '") + library.dli_fname + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "a kernel";
  std::string found = "a kernel";
  static char line[1 << 16];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    char* text = nullptr;
    const uintptr_t at = std::strtoull(line, &text, 16);
    const uintptr_t wanted = reinterpret_cast<uintptr_t>(function);
    if ((at != wanted - base && at != wanted) || std::strlen(text) < 4) continue;
    found = text + 3;
    found.erase(found.find_last_not_of('\n') + 1);
  }
  pclose(pipe);
  return found;
}

}  // namespace

std::string name_of(const Label& label) {
  return label.kernel == nullptr ? label.text : symbol_of(label.kernel);
}

}  // namespace orbbec::lazy

using namespace orbbec::lazy;

cudaError_t cudaDeviceSynchronize() { return attempted(host_waits_for_all); }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return attempted([&] { host_waits_for_stream(number_of(stream), Wait::kAsked, __func__); });
}

cudaError_t cudaMalloc(void** address, size_t bytes) {
  *address = memory().allocate(bytes, 0);
  const bool failed = bytes > 0 && *address == nullptr;
  return failed ? remember(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* address) {
  return attempted([&] {
    host_waits_for_all();
    memory().free(address);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return attempted([&] {
    copy(to, from, bytes, 0);
    host_waits_for_stream(0, Wait::kImplicit, "cudaMemcpy");
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return attempted([&] { copy(to, from, bytes, number_of(stream)); });
}

cudaError_t cudaMemset(void* address, int value, size_t bytes) {
  return cudaMemsetAsync(address, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream) {
  return attempted([&] {
    if (bytes == 0) return;
    push(number_of(stream), {"cudaMemsetAsync"}, [=] { std::memset(address, value, bytes); });
  });
}

namespace orbbec::emulation {

cudaError_t execute(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
                    cudaStream_t stream) {
  return attempted([&] {
    const Label label{"", kernel.function};
    const auto kept = std::make_shared<Launch>(kernel);
    push(number_of(stream), label, [=] { run_grid(kept->kernel, grid, block, shared_bytes); });
  });
}

}  // namespace orbbec::emulation
