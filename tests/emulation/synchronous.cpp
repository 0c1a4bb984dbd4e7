// Memory and streams of a device that does everything at once, in the host's memory.
#include <cstdlib>
#include <cstring>

#include "emulation/runtime.h"

#ifdef ORBBEC_EMULATION_PTX
#include "../gpu/ptx/hook.h"
#endif

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaMalloc(void** address, size_t bytes) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(address, 256, bytes) != 0)
    return orbbec::emulation::remember(cudaErrorMemoryAllocation);
  std::memset(*address, orbbec::emulation::kFreshByte, bytes);
#ifdef ORBBEC_EMULATION_PTX
  orbbec::ptx::memory().add(*address, bytes);
#endif
  return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
#ifdef ORBBEC_EMULATION_PTX
  orbbec::ptx::memory().remove(address);
#endif
  std::free(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void* address, int value, size_t bytes) {
  if (bytes > 0) std::memset(address, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(address, value, bytes);
}

namespace orbbec::emulation {

cudaError_t execute(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
                    cudaStream_t) {
#ifdef ORBBEC_EMULATION_PTX
  return ptx::launch(kernel.function, kernel, grid, block, shared_bytes);
#else
  run_grid(kernel, grid, block, shared_bytes);
  return cudaSuccess;
#endif
}

}  // namespace orbbec::emulation
