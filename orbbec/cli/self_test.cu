// The architectures that nvcc compiled for, and a kernel that checks that the result runs on a GPU.
#include <string>
#include <vector>

#include "../executors/cuda/launch.h"

namespace orbbec {

std::string cuda_error_text(int status);  // bridge/cuda_error.cu

namespace {

constexpr int kThreads = 256, kBlocks = 4, kCount = kThreads * kBlocks;

// A thread owns one value.
__global__ void square_kernel(int* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = i * i;
}

int squares(std::vector<int>& values) {
  int* memory = nullptr;
  int status = cudaMalloc(&memory, kCount * sizeof(int));
  if (status != cudaSuccess) return status;
  status = launch(square_kernel, dim3(kBlocks), dim3(kThreads), 0, nullptr, memory);
  if (status == cudaSuccess) {
    status = cudaMemcpy(values.data(), memory, kCount * sizeof(int), cudaMemcpyDeviceToHost);
  }
  cudaFree(memory);
  return status;
}

}  // namespace

int compiled_cuda_version() { return CUDART_VERSION; }

// "sm_75+sm_90", from setup.py.
std::string compiled_architectures() {
#ifdef ORBBEC_ARCHITECTURES
#define ORBBEC_TEXT(...) #__VA_ARGS__
#define ORBBEC_EXPANDED_TEXT(...) ORBBEC_TEXT(__VA_ARGS__)
  return ORBBEC_EXPANDED_TEXT(ORBBEC_ARCHITECTURES);
#undef ORBBEC_EXPANDED_TEXT
#undef ORBBEC_TEXT
#else
  return "";
#endif
}

std::string run_cuda_self_test(int device) {
  int before = 0;
  int status = cudaGetDevice(&before);
  if (status == cudaSuccess) status = cudaSetDevice(device);
  std::vector<int> values(kCount);
  if (status == cudaSuccess) {
    status = squares(values);
    cudaSetDevice(before);
  }
  cudaGetLastError();  // clear the error for the next caller
  if (status != cudaSuccess) return cuda_error_text(status);
  for (int i = 0; i < kCount; ++i) {
    if (values[i] != i * i) return "a kernel ran, but its answer is wrong";
  }
  return "";
}

}  // namespace orbbec
