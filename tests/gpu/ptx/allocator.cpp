// Registers every CPU tensor and NumPy array with the executor: kernels see no other memory of the
// host. Linked into the library of the flavour `ptx`, which installs it when it is loaded.
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "execution.h"

namespace orbbec::ptx {

namespace {

constexpr size_t kAlign = 512;           // that of torch's CUDA allocator
constexpr size_t kGuard = 512;           // unregistered bytes after each tensor
constexpr size_t kFreshBytes = 1 << 20;  // filled with kFreshByte

void* allocate(size_t bytes) {
  void* data = nullptr;
  if (bytes > ~size_t{0} - kGuard || posix_memalign(&data, kAlign, bytes + kGuard) != 0) {
    return nullptr;
  }
  std::memset(data, kFreshByte, std::min(bytes, kFreshBytes));
  memory().add(data, bytes);
  return data;
}

void release(void* data) {
  memory().remove(data);
  std::free(data);
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const data = ptx::allocate(bytes);
    TORCH_CHECK(data != nullptr, "not enough memory for ", bytes, " bytes");
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

const bool is_installed = [] {
  c10::SetCPUAllocator(new Allocator, 1);
  return true;
}();

// PyDataMem_Handler of NumPy's ndarraytypes.h.
struct NumpyHandler {
  char name[127];
  uint8_t version;
  void* context;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*, size_t);
};

void* numpy_malloc(void*, size_t bytes) { return allocate(bytes); }
void* numpy_calloc(void*, size_t count, size_t bytes) {
  void* const data = allocate(count * bytes);
  if (data != nullptr) std::memset(data, 0, count * bytes);
  return data;
}
void numpy_free(void*, void* data, size_t) { release(data); }
void* numpy_realloc(void*, void* old, size_t bytes) {
  void* const data = allocate(bytes);
  if (data == nullptr || old == nullptr) return data;
  const Region* const region = memory().find(reinterpret_cast<uintptr_t>(old));
  if (region != nullptr) std::memcpy(data, old, std::min(bytes, region->size));
  release(old);
  return data;
}

}  // namespace

}  // namespace orbbec::ptx

// For numpy_memory.py.
extern "C" void* ptx_numpy_handler() {
  static orbbec::ptx::NumpyHandler handler = {
      "orbbec_ptx",
      1,
      nullptr,
      &orbbec::ptx::numpy_malloc,
      &orbbec::ptx::numpy_calloc,
      &orbbec::ptx::numpy_realloc,
      &orbbec::ptx::numpy_free,
  };
  return &handler;
}
