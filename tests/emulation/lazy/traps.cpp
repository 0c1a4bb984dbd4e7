#include "traps.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "memory.h"

namespace orbbec::lazy {

namespace {

constexpr uintptr_t kSpan = uintptr_t{1} << 32;
constexpr size_t kPage = 4096;

// Of 4 GiB, so that a trap keeps the lower half of what it replaces, and 4 GiB for indices.
uintptr_t first_trap() {
  static const uintptr_t begin = [] {
    void* const found =
        mmap(nullptr, 3 * kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) report("no addresses for traps");
    return (reinterpret_cast<uintptr_t>(found) + kSpan - 1) / kSpan * kSpan;
  }();
  return begin;
}

std::map<uintptr_t, std::string>& traps() {
  static auto* const only = new std::map<uintptr_t, std::string>;
  return *only;
}

bool is_of_host(uintptr_t word) {
  if (word >> 47 != 0 || word >> 32 == 0) return false;  // no address that Linux gives out
  const auto* const address = reinterpret_cast<void*>(word);
  if (memory().owns(address) || memory().pinned_begin(address) != nullptr) return false;
  unsigned char resident;
  return mincore(reinterpret_cast<void*>(word / kPage * kPage), 1, &resident) == 0;
}

}  // namespace

void trap_host_addresses(void* argument, size_t bytes, size_t index) {
  const std::lock_guard<std::recursive_mutex> guard(lock());
  char* const begin = static_cast<char*>(argument);
  for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
    uintptr_t word;
    std::memcpy(&word, begin + at, sizeof word);
    if (!is_of_host(word)) continue;
    char text[96];
    std::snprintf(text, sizeof text, "0x%lx of the host (argument %zu, byte %zu)",
                  static_cast<unsigned long>(word), index, at);
    word = first_trap() + word % kSpan;
    traps()[word] = text;
    std::memcpy(begin + at, &word, sizeof word);
  }
}

std::string trapped(uintptr_t address) {
  const auto after = traps().upper_bound(address);
  if (after == traps().begin() || address >= first_trap() + 2 * kSpan) return "";
  return std::prev(after)->second;
}

}  // namespace orbbec::lazy
