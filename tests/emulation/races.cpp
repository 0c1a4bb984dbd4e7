// The race detector. The kernels are compiled with -fsanitize=thread, which calls a function before
// every memory access; those functions are defined here instead of in ThreadSanitizer. They record
// who last wrote and read each byte, and report two threads that access a byte, at least one
// writing and at least one not atomically, without a barrier between.
#include "emulation/races.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulation/atomics.h"
#include "emulation/block.h"
#include "emulation/runtime.h"

namespace orbbec::emulation {

namespace {

struct Access {
  uint32_t block = 0;  // 1 + its number, modulo 2^32; 0: no access
  uint32_t thread : 10 = 0;
  uint32_t atomic : 1 = 0;
  uint32_t several_threads : 1 = 0;  // of this block and phase
  uint32_t several_warps : 1 = 0;
  uint32_t several_blocks : 1 = 0;
  uint32_t phase : 18 = 0;  // barriers of the block before it
  uint32_t clock = 0;       // warp barriers of the thread before it
  uint32_t code = 0;        // address less that of the library
};

struct SharedByte {
  Access write;
  std::vector<Access> reads;
};

struct GlobalByte {
  Access write;
  Access read;
};

struct Range {
  char* begin = nullptr;
  char* end = nullptr;
  std::vector<SharedByte> bytes;

  bool contains(const char* address) const { return address >= begin && address < end; }
};

constexpr uintptr_t kPageBytes = 1024;
using Page = std::array<GlobalByte, kPageBytes>;

struct Detector {
  int thread = -1;
  uint32_t block = 0;
  uint32_t phase = 0;
  bool fenced = false;                           // the kernel orders its blocks itself
  std::vector<std::array<uint32_t, 32>> clocks;  // [thread][lane]: the last of the lane it knows of
  Range shared[2];                               // dynamic, static
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t last_number = 0;
  Page* last_page = nullptr;
};

Detector& detector() {
  static Detector* const only = new Detector;
  return *only;
}

// A library's thread-local storage is created when a thread first accesses it.
thread_local volatile char anchor;

int find_static_shared(dl_phdr_info* info, size_t, void* self) {
  Dl_info here{};
  dladdr(self, &here);
  if (reinterpret_cast<void*>(info->dlpi_addr) != here.dli_fbase) {
    // A main program at a fixed address has base 0; check its segments.
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      const auto at = reinterpret_cast<uintptr_t>(self);
      holds |= segment.p_type == PT_LOAD && at >= begin && at < begin + segment.p_memsz;
    }
    if (!holds) return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    Range& range = detector().shared[1];
    range.begin = static_cast<char*>(info->dlpi_tls_data);
    if (range.begin == nullptr) fail("no thread-local storage to watch");
    range.end = range.begin + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

std::string source_of(uint32_t code) {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&find_static_shared), &here);
  char command[4096];
  // Less one: the call, not the instruction after it. -i: from the innermost inlined function out.
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%x 2>/dev/null", here.dli_fname,
                code - 1);
  std::string location = here.dli_fname;
  if (FILE* pipe = popen(command, "r")) {
    char line[4096];
    bool found = false;
    while (!found && std::fgets(line, sizeof line, pipe) != nullptr) {
      line[std::strcspn(line, " \n")] = '\0';
      found = line[0] != '?' && std::strstr(line, "include/emulation/") == nullptr;
      if (found) location = line;
    }
    pclose(pipe);
  }
  return location;
}

std::string name_of(const Access& access) {
  const unsigned t = access.thread, b = access.block - 1;
  char text[128];
  std::snprintf(text, sizeof text, "thread (%u, %u, %u) of block (%u, %u, %u)", t % blockDim.x,
                t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y, b % gridDim.x,
                b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y);
  return text;
}

[[noreturn]] void fail_race(const Access& before, bool before_writes, const Access& now,
                            bool now_writes, const char* kind) {
  fail("race in %s memory: %s %s at %s, %s %s the same byte at %s, and no barrier is between", kind,
       name_of(before).c_str(), before_writes ? "writes" : "reads", source_of(before.code).c_str(),
       name_of(now).c_str(), now_writes ? "writes" : "reads", source_of(now.code).c_str());
}

bool ordered_in_block(const Access& before, const Access& now) {
  if (before.phase != now.phase || before.thread == now.thread) return true;
  if (before.atomic && now.atomic) return true;
  if (before.thread / 32 != now.thread / 32) return false;
  return detector().clocks[now.thread][before.thread % 32] >= before.clock;
}

void touch_shared(SharedByte& byte, const Access& now, bool reads, bool writes) {
  if (byte.write.block != now.block) {
    byte.write = Access{};
    byte.reads.clear();
  }
  if (byte.write.block == 0 && reads) {
    fail("%s reads shared memory at %s that no thread of the block has written",
         name_of(now).c_str(), source_of(now.code).c_str());
  }
  if (byte.write.block != 0 && !ordered_in_block(byte.write, now)) {
    fail_race(byte.write, true, now, writes, "shared");
  }
  if (writes) {
    for (const Access& read : byte.reads) {
      if (!ordered_in_block(read, now)) fail_race(read, false, now, true, "shared");
    }
    byte.reads.clear();
    byte.write = now;
  } else if (byte.reads.empty() || byte.reads.back().phase != now.phase) {
    byte.reads.assign(1, now);
  } else if (byte.reads.back().thread == now.thread) {
    byte.reads.back() = now;
  } else {
    byte.reads.push_back(now);
  }
}

bool ordered_in_grid(const Access& before, const Access& now) {
  if (before.block == 0 || (before.atomic && now.atomic)) return true;
  if (before.block != now.block) return detector().fenced;
  if (before.several_blocks && !detector().fenced) return false;
  if (before.phase != now.phase) return true;
  if (before.thread == now.thread && !before.several_threads) return true;
  if (before.several_warps || before.thread / 32 != now.thread / 32) return false;
  const auto& known = detector().clocks[now.thread];
  if (!before.several_threads) return known[before.thread % 32] >= before.clock;
  const size_t first = now.thread / 32 * 32;
  const size_t lanes = std::min<size_t>(32, detector().clocks.size() - first);
  return *std::min_element(known.begin(), known.begin() + lanes) >= before.clock;
}

void touch_global(GlobalByte& byte, const Access& now, bool writes) {
  if (!ordered_in_grid(byte.write, now)) fail_race(byte.write, true, now, writes, "global");
  if (writes) {
    if (!ordered_in_grid(byte.read, now)) fail_race(byte.read, false, now, true, "global");
    byte.write = now;
    return;
  }
  const Access before = byte.read;
  byte.read = now;
  if (before.block == 0) return;
  byte.read.several_blocks = before.several_blocks || before.block != now.block;
  if (before.block != now.block || before.phase != now.phase) return;
  byte.read.several_threads = before.several_threads || before.thread != now.thread;
  byte.read.several_warps = before.several_warps || before.thread / 32 != now.thread / 32;
  byte.read.clock = std::max(before.clock, now.clock);
}

GlobalByte& global_byte(uintptr_t address) {
  Detector& d = detector();
  const uintptr_t number = address / kPageBytes;
  if (d.last_page == nullptr || number != d.last_number) {
    std::unique_ptr<Page>& page = d.pages[number];
    if (page == nullptr) page = std::make_unique<Page>();
    d.last_number = number;
    d.last_page = page.get();
  }
  return (*d.last_page)[address % kPageBytes];
}

// Memory that is not the kernel's: code and its own stack.
bool is_private(const void* address) {
  return on_stack(address) || (address >= &threadIdx && address < &threadIdx + 1) ||
         (address >= &blockIdx && address < &blockIdx + 1) ||
         (address >= &blockDim && address < &blockDim + 1) ||
         (address >= &gridDim && address < &gridDim + 1);
}

void note(void* address, size_t bytes, bool reads, bool writes, bool atomic, void* code) {
  Detector& d = detector();
  if (d.thread < 0 || is_private(address)) return;
  static char* const base = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&find_static_shared), &here);
    return static_cast<char*>(here.dli_fbase);
  }();
  Access now;
  now.block = d.block;
  now.thread = d.thread;
  now.atomic = atomic;
  now.phase = d.phase;
  now.clock = d.clocks[d.thread][d.thread % 32];
  now.code = static_cast<uint32_t>(static_cast<char*>(code) - base);
  auto* first = static_cast<char*>(address);
  for (Range& range : d.shared) {
    if (!range.contains(first)) continue;
    for (char* at = first; at < first + bytes && at < range.end; ++at) {
      touch_shared(range.bytes[at - range.begin], now, reads, writes);
    }
    return;
  }
  for (size_t i = 0; i < bytes; ++i) {
    touch_global(global_byte(reinterpret_cast<uintptr_t>(first) + i), now, writes);
  }
}

}  // namespace

void races_begin_grid(int block_threads, void* dynamic_shared, size_t shared_bytes) {
  Detector& d = detector();
  anchor = 1;
  dl_iterate_phdr(find_static_shared, reinterpret_cast<void*>(&find_static_shared));
  d.shared[0].begin = static_cast<char*>(dynamic_shared);
  d.shared[0].end = d.shared[0].begin + shared_bytes;
  for (Range& range : d.shared) range.bytes.assign(range.end - range.begin, SharedByte{});
  d.clocks.assign(block_threads, {});
  d.fenced = false;
}

void races_begin_block(uint64_t block) {
  Detector& d = detector();
  d.block = static_cast<uint32_t>(block) + 1;
  d.phase = 0;
  for (size_t t = 0; t < d.clocks.size(); ++t) {
    d.clocks[t].fill(0);
    d.clocks[t][t % 32] = 1;
  }
  Range& fixed = d.shared[1];
  std::memset(fixed.begin, kFreshByte, fixed.end - fixed.begin);
}

void races_run_thread(int thread) { detector().thread = thread; }

void races_meet_block() { ++detector().phase; }

void races_meet_warp(int first_thread, unsigned lanes) {
  Detector& d = detector();
  std::array<uint32_t, 32> known{};
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    const auto& clocks = d.clocks[first_thread + lane];
    for (int i = 0; i < 32; ++i) known[i] = std::max(known[i], clocks[i]);
  }
  for (int lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    d.clocks[first_thread + lane] = known;
    ++d.clocks[first_thread + lane][lane];
  }
}

void races_end_grid() {
  Detector& d = detector();
  d.thread = -1;
  d.pages.clear();
  d.last_page = nullptr;
}

void note_atomic(void* address, size_t bytes, void* code) {
  note(address, bytes, true, true, true, code);
}

void note_fence() { detector().fenced = true; }

}  // namespace orbbec::emulation

// What the compiler calls (gcc/sanitizer.def).
#define ORBBEC_EMULATION_ACCESS(bytes)                                                        \
  extern "C" void __tsan_read##bytes(void* address) {                                         \
    orbbec::emulation::note(address, bytes, true, false, false, __builtin_return_address(0)); \
  }                                                                                           \
  extern "C" void __tsan_write##bytes(void* address) {                                        \
    orbbec::emulation::note(address, bytes, false, true, false, __builtin_return_address(0)); \
  }

ORBBEC_EMULATION_ACCESS(1)
ORBBEC_EMULATION_ACCESS(2)
ORBBEC_EMULATION_ACCESS(4)
ORBBEC_EMULATION_ACCESS(8)
ORBBEC_EMULATION_ACCESS(16)

extern "C" void __tsan_read_range(void* address, size_t bytes) {
  orbbec::emulation::note(address, bytes, true, false, false, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, size_t bytes) {
  orbbec::emulation::note(address, bytes, false, true, false, __builtin_return_address(0));
}
// Of functions that the host shares, which know no atomicAdd.
extern "C" uint64_t __tsan_atomic64_fetch_add(volatile uint64_t* address, uint64_t value, int) {
  orbbec::emulation::note(const_cast<uint64_t*>(address), 8, true, true, true,
                          __builtin_return_address(0));
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void*, void*) {}
extern "C" void __tsan_vptr_read(void*) {}
