#include "emulation/runtime.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "emulation/limits.h"

#ifdef ORBBEC_EMULATION_PTX
#include "../gpu/ptx/hook.h"
#endif

namespace {

// Limits that all compute capabilities from 7.5 on have (CUDA programming guide, technical
// specifications); limits.cpp checks the others. The opt-in is that of 7.5, the smallest: a launch
// that fits fits everywhere. Four multiprocessors keep persistent grids small.
constexpr int kMultiprocessors = 4;
constexpr unsigned kBlockThreads = 1024;
constexpr unsigned kBlockDepth = 64;
constexpr unsigned kGridWidth = 2147483647;
constexpr unsigned kGridHeight = 65535;
constexpr int kSharedBytes = 48 * 1024;
constexpr int kSharedBytesOptIn = 64 * 1024;

// Read every time, so that a test can change it.
int number_of(const char* variable, int by_default) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return by_default;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > INT_MAX)
    orbbec::emulation::fail("%s: expected a whole number, but got %s", variable, text);
  return static_cast<int>(number);
}

int shared_bytes_opt_in() { return number_of("ORBBEC_EMULATION_SHARED", kSharedBytesOptIn); }

// ORBBEC_EMULATION_DRIVER: the CUDA that the driver supports, such as 12040.
int driver_version() { return number_of("ORBBEC_EMULATION_DRIVER", CUDART_VERSION); }

// A driver runs every runtime of its major version.
bool driver_suffices() { return driver_version() / 1000 >= CUDART_VERSION / 1000; }

std::string last_refusal;
cudaError_t last_error = cudaSuccess;  // one for all threads: thread-local storage is shared memory

// The shared memory requested for each kernel with cudaFuncSetAttribute.
std::mutex asked_mutex;
std::map<const void*, int>& asked() {
  static auto* const only = new std::map<const void*, int>;
  return *only;
}

}  // namespace

using orbbec::emulation::remember;

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorLaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchOutOfResources:
      return last_refusal.c_str();
    case cudaErrorLaunchFailure:
#ifdef ORBBEC_EMULATION_PTX
      return orbbec::ptx::last_fault();
#else
      return "unspecified launch failure";
#endif
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = kBlockThreads;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedBytes;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = warpSize;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = shared_bytes_opt_in();
      return cudaSuccess;
  }
  return remember(cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated");
  properties->totalGlobalMem = size_t{1} << 34;
  properties->sharedMemPerBlock = kSharedBytes;
  properties->sharedMemPerBlockOptin = shared_bytes_opt_in();
  properties->warpSize = warpSize;
  properties->maxThreadsPerBlock = kBlockThreads;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version();
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (!driver_suffices()) return remember(cudaErrorInsufficientDriver);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > shared_bytes_opt_in()) return remember(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(asked_mutex);
  int& limit = asked()[kernel];
  if (value < limit) {  // another thread may be about to launch with more
    orbbec::emulation::fail(
        "cudaFuncSetAttribute lowers a kernel's shared memory from %d to %d bytes", limit, value);
  }
  limit = value;
  return cudaSuccess;
}

namespace orbbec::emulation {

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

namespace {

size_t argument_bytes(const Kernel& kernel) {
  size_t bytes = 0;
  for (const size_t* size = kernel.sizes; *size != 0; ++size) bytes += *size;
  return bytes;
}

}  // namespace

cudaError_t launch(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes,
                   cudaStream_t stream) {
  if (!driver_suffices()) return remember(cudaErrorInsufficientDriver);
  const bool block_fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= kBlockThreads &&
                          block.y <= kBlockThreads && block.z <= kBlockDepth &&
                          block.x * block.y * block.z <= kBlockThreads;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kGridWidth &&
                         grid.y <= kGridHeight && grid.z <= kGridHeight;
  if (!block_fits || !grid_fits) return remember(cudaErrorInvalidConfiguration);
  size_t asked_bytes = 0;
  {
    const std::lock_guard<std::mutex> lock(asked_mutex);
    asked_bytes = asked()[kernel.function];
  }
  if (shared_bytes > kSharedBytes && shared_bytes > asked_bytes) {
    return remember(cudaErrorInvalidValue);
  }
  const std::string refused =
      refusal(kernel.function, {block.x * block.y * block.z, shared_bytes, argument_bytes(kernel),
                                asked_bytes, static_cast<size_t>(shared_bytes_opt_in())});
  if (!refused.empty()) {
    const std::lock_guard<std::mutex> lock(asked_mutex);
    last_refusal = refused;
    return remember(cudaErrorLaunchOutOfResources);
  }
  return remember(execute(kernel, grid, block, shared_bytes, stream));
}

}  // namespace orbbec::emulation
