// The runtime's host calls. runtime.cpp has those that all emulated devices share; memory and
// streams are those of synchronous.cpp, or of the lazy device.
#pragma once

#include <cstddef>
#include <utility>

#include "emulation/block.h"

#define CUDART_VERSION 13000

// Values of CUDA's own enumeration.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  size_t sharedMemPerBlockOptin;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsPerMultiProcessor;
  int major;
  int minor;
  int multiProcessorCount;
};

using cudaStream_t = struct CUstream_st*;

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

// Fresh memory is filled with kFreshByte.
cudaError_t cudaMalloc(void** address, size_t bytes);
cudaError_t cudaFree(void* address);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* address, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

template <class T>
cudaError_t cudaMalloc(T** address, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(address), bytes);
}

template <class... Params>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Params...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class... Params>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(Params...),
                                                          int block_threads, size_t) {
  *blocks = 2048 / block_threads;
  return cudaSuccess;
}

namespace orbbec::emulation {

// Recognisable as a byte (203), an int (-875836469) and a float (-2.67e7).
constexpr unsigned char kFreshByte = 0xcb;

// A launch within the limits goes to `execute`, which is the device's: it runs the grid now or, on
// the lazy device, queues it.
cudaError_t launch(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
                   cudaStream_t stream);
cudaError_t execute(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
                    cudaStream_t stream);

// For cudaGetLastError.
cudaError_t remember(cudaError_t error);

template <class... Params>
void call(const void* function, void** values) {
  const auto kernel = reinterpret_cast<void (*)(Params...)>(const_cast<void*>(function));
  [&]<size_t... I>(std::index_sequence<I...>) {
    kernel(*static_cast<Params*>(values[I])...);
  }(std::index_sequence_for<Params...>());
}

// Bytes of an argument that belong to none of its members may be what is left of an address, for
// which the lazy device looks.
template <class... Params>
void clear_padding(void** values) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (__builtin_clear_padding(static_cast<Params*>(values[I])), ...);
  }(std::index_sequence_for<Params...>());
}

}  // namespace orbbec::emulation

template <class... Params>
cudaError_t cudaLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  orbbec::emulation::clear_padding<Params...>(arguments);
  static constexpr size_t kSizes[] = {sizeof(Params)..., 0};
  return orbbec::emulation::launch({&orbbec::emulation::call<Params...>,
                                    reinterpret_cast<const void*>(kernel), arguments, kSizes},
                                   grid, block, shared_bytes, stream);
}
