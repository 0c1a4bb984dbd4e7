// The memory that a kernel may touch, with a shadow per byte that tells who touched it last.
// Included by execution.h and by those who register memory: api.cpp, hook.cpp, allocator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace orbbec::ptx {

// `serial` numbers the steps of all launches: a launch, a block, a barrier each begin a new one.
struct Access {
  uint32_t serial = 0;
  uint32_t thread : 10 = 0;
  uint32_t atomic : 1 = 0;
  uint32_t several_threads : 1 = 0;
  uint32_t several_warps : 1 = 0;
  uint32_t several_blocks : 1 = 0;
  uint32_t instruction : 18 = 0;  // its index
};

struct Byte {
  Access write, read;
};

enum class Space : uint8_t { kGlobal, kShared, kLocal, kParam, kConst, kGeneric };

// A `Byte` per byte, all zero at first. Pages that no kernel touches cost nothing.
class Shadow {
 public:
  explicit Shadow(size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  Byte* data() const { return data_; }

 private:
  size_t mapped_;
  Byte* data_;
};

struct Region {
  uintptr_t begin = 0;
  size_t size = 0;
  Space space = Space::kGlobal;
  std::unique_ptr<Shadow> shadow;

  bool holds(uintptr_t address, size_t bytes) const {
    return address - begin < size && size - (address - begin) >= bytes;
  }
  Byte* bytes() {
    if (shadow == nullptr) shadow = std::make_unique<Shadow>(size);
    return shadow->data();
  }
};

// The registry of global memory. Regions do not overlap.
class Memory {
 public:
  void add(const void* begin, size_t size, Space space = Space::kGlobal);
  void remove(const void* begin);
  // The region that holds `address`, else null. It lives until it is removed.
  Region* find(uintptr_t address);
  // The region before or at `address`, to describe a fault.
  Region* find_before(uintptr_t address);
  void forget_accesses();

 private:
  std::mutex mutex_;
  std::map<uintptr_t, Region> regions_;
};

Memory& memory();

}  // namespace orbbec::ptx
