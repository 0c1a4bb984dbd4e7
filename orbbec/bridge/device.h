// Where an operator runs: CPU threads, a CUDA stream or, in the test build, the emulated CUDA
// device.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "../executors/executor_cpu.h"
#include "check.h"

namespace orbbec {

#ifdef ORBBEC_EMULATION
// Test build only: while set, CPU tensors go through the CUDA kernels, executed on the CPU.
inline bool emulation_is_on = false;
#else
constexpr bool emulation_is_on = false;
#endif

inline bool runs_cuda_kernels(const Tensor& tensor) { return tensor.is_cuda() || emulation_is_on; }

inline bool same_device(const Tensor& a, const Tensor& b) {
  return a.is_cuda() == b.is_cuda() && a.is_cpu() == b.is_cpu() &&
         a.get_device_index() == b.get_device_index();
}

// torch's current stream, looked up at run time in torch's CUDA library, which a CPU-only torch
// does not have.
inline void* current_stream(const char* op, int32_t device_index) {
  if (emulation_is_on) return nullptr;
  using Getter = int32_t (*)(int32_t, void**);
  static const Getter getter = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<Getter>(dlsym(library, "aoti_torch_get_current_cuda_stream"))
                   : nullptr;
  }();
  if (getter == nullptr) throw std::runtime_error(std::string(op) + ": this torch has no CUDA");
  void* stream = nullptr;
  if (getter(device_index, &stream) != 0)
    throw std::runtime_error(std::string(op) + ": torch returned no CUDA stream");
  return stream;
}

constexpr int64_t kChunksPerThread = 16;

// Whether this thread runs its part of a call: calls within it do not share their work again.
inline thread_local bool runs_a_part = false;

// Each thread takes the chunks of its own slice first, then those left in other slices, because
// one core may be slower than another. A chunk has at least `grain` items.
// An exception, such as std::bad_alloc, must not leave a thread of torch: it is rethrown here.
inline void run_in_chunks(int64_t threads, int64_t count, int64_t grain, const RangeBody& body) {
  const int64_t chunks = std::clamp<int64_t>(count / grain / threads, 1, kChunksPerThread);
  const int64_t all = threads * chunks;
  std::vector<std::atomic<int64_t>> taken(threads);
  std::vector<std::exception_ptr> thrown(threads);
  const auto work = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last + threads - 1; ++i) {
      const int64_t slice = i % threads;
      for (int64_t chunk; (chunk = taken[slice]++) < chunks;) {
        const int64_t index = slice * chunks + chunk;
        body(count * index / all, count * (index + 1) / all);
      }
    }
  };
  torch::stable::parallel_for(0, threads, 1, [&](int64_t first, int64_t last) {
    runs_a_part = true;
    try {
      work(first, last);
    } catch (...) {
      thrown[first] = std::current_exception();
    }
    runs_a_part = false;
  });
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

// The process whose calls have run in several threads; 0: none. A process that was forked from it
// has no such threads, and OpenMP would wait for them forever.
inline std::atomic<pid_t> owner_of_threads = 0;

inline bool can_share_work() {
  pid_t owner = 0;
  const pid_t self = getpid();
  return owner_of_threads.compare_exchange_strong(owner, self) || owner == self;
}

inline ParallelFor torch_threads() {
  return [](int64_t count, int64_t grain, const RangeBody& body) {
    if (count <= 0) return;
    const int64_t threads =
        std::min<int64_t>(torch::stable::get_num_threads(), (count + grain - 1) / grain);
    if (threads == 1 || runs_a_part || !can_share_work()) {
      body(0, count);
    } else {
      run_in_chunks(threads, count, grain, body);
    }
  };
}

// Functions of .cu files are declared weak: a build without CUDA leaves them out, and their address
// is null.
[[gnu::weak]] std::string cuda_error_text(int status);  // cuda_error.cu

// Runs `on_cpu(arguments..., threads)` or `on_cuda(arguments..., stream)`, by where `like` lies.
// `on_cuda` gives a cudaError_t.
template <class OnCpu, class OnCuda, class... Arguments>
void run_where(const char* op, const Tensor& like, OnCpu on_cpu, OnCuda on_cuda,
               const Arguments&... arguments) {
  if (!runs_cuda_kernels(like)) {
    on_cpu(arguments..., torch_threads());
    return;
  }
  if (cuda_error_text == nullptr) {
    throw std::runtime_error(std::string(op) +
                             ": orbbec was built without CUDA; build it again where nvcc is found");
  }
  std::optional<torch::stable::accelerator::DeviceGuard> guard;
  if (like.is_cuda()) guard.emplace(like.get_device_index());
  const int status = on_cuda(arguments..., current_stream(op, like.get_device_index()));
  if (status != 0) throw std::runtime_error(std::string(op) + ": CUDA: " + cuda_error_text(status));
}

}  // namespace orbbec
