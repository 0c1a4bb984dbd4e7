#include "memory.h"

#include <sys/mman.h>

#include <new>

namespace orbbec::ptx {

Shadow::Shadow(size_t bytes) : mapped_(bytes * sizeof(Byte)) {
  // Without reservation: of memory with wide strides little is touched.
  void* const data = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<Byte*>(data);
}

Shadow::~Shadow() { munmap(data_, mapped_); }

void Memory::add(const void* begin, size_t size, Space space) {
  if (size == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Region& region = regions_[reinterpret_cast<uintptr_t>(begin)];
  region.begin = reinterpret_cast<uintptr_t>(begin);
  region.size = size;
  region.space = space;
  region.shadow.reset();
}

void Memory::remove(const void* begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  regions_.erase(reinterpret_cast<uintptr_t>(begin));
}

Region* Memory::find_before(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto after = regions_.upper_bound(address);
  return after == regions_.begin() ? nullptr : &std::prev(after)->second;
}

Region* Memory::find(uintptr_t address) {
  Region* const region = find_before(address);
  return region != nullptr && region->holds(address, 1) ? region : nullptr;
}

void Memory::forget_accesses() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [begin, region] : regions_) region.shadow.reset();
}

Memory& memory() {
  static auto* const only = new Memory;  // outlives the other statics
  return *only;
}

}  // namespace orbbec::ptx
