// What CUDA's status says, and which driver this binary needs.
#include <cuda_runtime.h>

#include <string>

namespace orbbec {
namespace {

// "12.4" for 12040.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

// The newest CUDA that the driver supports; empty without a driver.
std::string cuda_driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess && version > 0 ? version_text(version) : "";
}

namespace {

// The oldest driver for a major version of the runtime (CUDA compatibility guide, minor version
// compatibility): within it, an older driver runs a newer runtime.
const char* oldest_driver(int runtime) { return runtime >= 13000 ? "580" : "525"; }

std::string what_the_driver_lacks() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const std::string supported = cuda_driver_version();
  std::string text = supported.empty() ? "there is no NVIDIA driver"
                                       : "the NVIDIA driver supports CUDA up to " + supported;
  text += ", but this build has the runtime of CUDA " + version_text(runtime) + ", which needs ";
  return text + "driver " + oldest_driver(runtime) + " or newer; see `python -m orbbec doctor`";
}

}  // namespace

std::string cuda_error_text(int status) {
  const std::string text = cudaGetErrorString(static_cast<cudaError_t>(status));
  return status == cudaErrorInsufficientDriver ? text + ": " + what_the_driver_lacks() : text;
}

}  // namespace orbbec
