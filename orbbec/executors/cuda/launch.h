// Launches a CUDA kernel. Included by the other headers of this folder and by .cu files. No
// `<<<>>>`, so that the same source compiles with nvcc and, with the headers of tests/emulation/,
// with a host compiler.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace orbbec {

constexpr int kWarp = 32;  // threads of a warp
constexpr unsigned kAllLanes = 0xffffffffu;

// Of a multiprocessor. 7.5, whose PTX ptxas assembles for all, has the fewest threads.
constexpr int kMultiprocessorThreads = 1024, kMultiprocessorRegisters = 65536;

// Blocks of a multiprocessor, for __launch_bounds__: as many as fit if a thread has at most so many
// registers. On an H200, kernels that read much wait for memory, and more warps hide that; a few
// registers that are spilled to the L1 cache cost less.
constexpr int blocks_of(int threads, int registers) {
  const int blocks = kMultiprocessorRegisters / (threads * registers);
  const int most = kMultiprocessorThreads / threads;
  return blocks < most ? blocks : most;
}

constexpr int64_t kMaxGridYZ = 65535;

// Blocks along y or z of a grid. Kernels stride over what is beyond.
inline unsigned grid_blocks(int64_t blocks) {
  return static_cast<unsigned>(blocks < kMaxGridYZ ? blocks : kMaxGridYZ);
}

// Blocks along x for each image along y: they fill a device, also for a few images. Kernels stride.
inline dim3 image_grid(int64_t images) {
  constexpr int64_t kBlocks = 8192, kMinBlocks = 16;  // of a batch, and of an image
  const int64_t blocks = kBlocks / (images > 0 ? images : 1);
  return dim3(static_cast<unsigned>(blocks > kMinBlocks ? blocks : kMinBlocks),
              grid_blocks(images));
}

// Dynamic shared memory that a block gets without opting in (CUDA programming guide).
constexpr size_t kDefaultSharedBytes = 48 * 1024;

// Lets blocks of a kernel have `shared_bytes` of dynamic shared memory on the current device. A
// limit only ever rises: if one thread could lower it, the launch of another would fail.
inline cudaError_t allow_shared_bytes(const void* kernel, size_t shared_bytes) {
  if (shared_bytes <= kDefaultSharedBytes) return cudaSuccess;
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, size_t> limits;
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device)) return status;
  const std::lock_guard<std::mutex> lock(mutex);
  size_t& limit = limits[{kernel, device}];
  if (shared_bytes <= limit) return cudaSuccess;
  const cudaError_t status = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (status == cudaSuccess) limit = shared_bytes;
  return status;
}

// Queues `kernel(args...)` on `stream`, a cudaStream_t. Returns a cudaError_t: the status of the
// launch, not of the run. A grid or block of size 0 succeeds and does nothing. A failed launch
// clears its error, so that a later cudaGetLastError does not return it.
template <class... Params, class... Args>
int launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, void* stream,
           Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "one argument for each parameter");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return cudaSuccess;
  if (block.x == 0 || block.y == 0 || block.z == 0) return cudaSuccess;
  cudaError_t status = allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
  if (status == cudaSuccess) {
    std::tuple<Params...> values(std::forward<Args>(args)...);
    std::apply(
        [&](auto&... value) {
          void* pointers[] = {const_cast<void*>(static_cast<const void*>(&value))..., nullptr};
          status = cudaLaunchKernel(kernel, grid, block, pointers, shared_bytes,
                                    static_cast<cudaStream_t>(stream));
        },
        values);
  }
  if (status != cudaSuccess) cudaGetLastError();
  return status;
}

// The block's dynamic shared memory, `shared_bytes` of launch(), aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ uint4 orbbec_dynamic_shared[];
  return reinterpret_cast<T*>(orbbec_dynamic_shared);
#else
  return static_cast<T*>(emulation::dynamic_shared());
#endif
}

}  // namespace orbbec
