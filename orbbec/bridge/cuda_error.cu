#include <cuda_runtime.h>

#include <string>

namespace orbbec {

std::string cuda_error_text(int status) {
  return cudaGetErrorString(static_cast<cudaError_t>(status));
}

}  // namespace orbbec
