// Reports what the binary was built with, what it runs, and whether its CUDA works.
#include <sstream>
#include <string>

#include "../bridge/check.h"
#include "../bridge/torch_api.h"
#include "../executors/executor_cpu.h"

namespace orbbec {

// Defined in .cu files; null in a build without CUDA.
[[gnu::weak]] int compiled_cuda_version();
[[gnu::weak]] std::string compiled_architectures();
[[gnu::weak]] std::string run_cuda_self_test(int device);
[[gnu::weak]] std::string cuda_driver_version();  // bridge/cuda_error.cu

namespace {

std::string compiler_version() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  std::ostringstream text;
  text << "gcc " << __GNUC__ << '.' << __GNUC_MINOR__ << '.' << __GNUC_PATCHLEVEL__;
  return text.str();
#else
  return "unknown";
#endif
}

// What the CPU kernels were compiled for.
std::string cpu_targets() {
#if defined(__x86_64__)
  return "scalar,avx2,avx512";
#else
  return "scalar";
#endif
}

Simd checked_level() {
  try {
    return simd_level();
  } catch (const std::invalid_argument& error) {
    last_refusal = error.what();
    throw;
  }
}

// The one of them that runs.
std::string cpu_target() {
  switch (checked_level()) {
    case Simd::kAvx512:
      return "avx512";
    case Simd::kAvx2:
      return "avx2";
    default:
      return "scalar";
  }
}

// 13000 becomes "13.0"; empty without CUDA.
std::string cuda_version() {
  if (compiled_cuda_version == nullptr) return "";
  const int version = compiled_cuda_version();
  std::ostringstream text;
  text << version / 1000 << '.' << version % 1000 / 10;
  return text.str();
}

std::string cuda_architectures() { return compiled_architectures ? compiled_architectures() : ""; }

// The newest CUDA that the driver supports; empty without one or without CUDA.
std::string driver_version() { return cuda_driver_version ? cuda_driver_version() : ""; }

// Empty on success, else the error.
std::string cuda_self_test(int64_t device) {
  return run_cuda_self_test ? run_cuda_self_test(static_cast<int>(device))
                            : "orbbec was built without CUDA";
}

}  // namespace
}  // namespace orbbec

extern "C" __attribute__((visibility("default"))) const char* orbbec_last_refusal() {
  return orbbec::last_refusal.c_str();
}

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("compiler_version() -> str");
  m.def("cpu_targets() -> str");
  m.def("cpu_target() -> str");
  m.def("compiled_cuda_version() -> str");
  m.def("compiled_architectures() -> str");
  m.def("cuda_driver_version() -> str");
  m.def("cuda_self_test(int device) -> str");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CompositeExplicitAutograd, m) {
  m.impl("compiler_version", TORCH_BOX(&orbbec::compiler_version));
  m.impl("cpu_targets", TORCH_BOX(&orbbec::cpu_targets));
  m.impl("cpu_target", TORCH_BOX(&orbbec::cpu_target));
  m.impl("compiled_cuda_version", TORCH_BOX(&orbbec::cuda_version));
  m.impl("compiled_architectures", TORCH_BOX(&orbbec::cuda_architectures));
  m.impl("cuda_driver_version", TORCH_BOX(&orbbec::driver_version));
  m.impl("cuda_self_test", TORCH_BOX(&orbbec::cuda_self_test));
}
