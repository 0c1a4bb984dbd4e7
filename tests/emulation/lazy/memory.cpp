#include "memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulation/runtime.h"
#include "traps.h"

namespace orbbec::lazy {

namespace {

using emulation::kFreshByte;
using Guard = std::lock_guard<std::recursive_mutex>;

constexpr size_t kReserved = size_t{1} << 42;  // of addresses, not of memory
constexpr size_t kPage = 4096;
constexpr size_t kFreshBytes = 1 << 20;  // filled with kFreshByte

struct sigaction previous_handler;

void stop_in_previous_handler() {
  sigaction(SIGSEGV, &previous_handler, nullptr);  // Python's names the test and the line
}

void handle_fault(int, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool is_write = (registers[REG_ERR] & 2) != 0;
  if (info->si_code > 0 && memory().owns(info->si_addr) && memory().open(address, is_write)) return;
  if (running() != nullptr) {
    const std::string found = trapped(address);
    if (!found.empty()) report(name_of(running()->label()) + " uses the address " + found);
  }
  stop_in_previous_handler();
}

// Others, such as Python's faulthandler, may have put theirs first.
void install_handler() {
  struct sigaction found;
  sigaction(SIGSEGV, nullptr, &found);
  if ((found.sa_flags & SA_SIGINFO) != 0 && found.sa_sigaction == &handle_fault) return;
  struct sigaction own = {};
  own.sa_sigaction = &handle_fault;
  own.sa_flags = SA_SIGINFO | SA_NODEFER;
  previous_handler = found;
  sigaction(SIGSEGV, &own, nullptr);
}

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::string hex(uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(address));
  return text;
}

std::string text_of(const Allocation& in) {
  return "memory of " + std::to_string(in.bytes) + " bytes, allocated on stream " +
         std::to_string(in.stream);
}

std::string text_of(const Access& access) {
  return name_of(access.label) + " on stream " + std::to_string(access.stamp.stream);
}

void print(const std::string& message) {
  std::fprintf(stderr, "lazy device: %s\n", message.c_str());
  std::fflush(stderr);
}

}  // namespace

Memory& memory() {
  static auto* const only = new Memory;
  return *only;
}

void report(const std::string& message) {
  print(message);
  std::abort();
}

void Memory::reserve() {
  void* const found =
      mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) report("no addresses for device memory");
  base_ = next_ = reinterpret_cast<uintptr_t>(found);
  end_ = base_ + kReserved;
}

void* Memory::allocate(size_t bytes, int stream) {
  const Guard guard(lock());
  install_handler();
  if (base_ == 0) reserve();
  if (bytes == 0) return nullptr;
  const size_t pages = whole_pages(bytes);
  if (pages < bytes || pages + kPage > end_ - next_) return nullptr;
  Allocation made;
  made.begin = next_;
  made.bytes = bytes;
  made.pages_bytes = pages;
  made.stream = stream;
  if (const Graph* const graph = captured(stream)) {
    made.graph = graph->id;  // whose replays may be on any stream
  } else {
    made.allocated = {stream, count_of(clock_of(stream), stream)};
    give_out_again(stream);
  }
  next_ += pages + kPage;  // a page between two allocations is never opened
  allocations_[made.begin] = made;
  return reinterpret_cast<void*>(made.begin);
}

void Memory::record_stream(void* address, int stream) {
  const Guard guard(lock());
  Allocation* const in = find(reinterpret_cast<uintptr_t>(address));
  if (in == nullptr) return;
  auto& others = in->other_streams;
  if (stream == in->stream || std::count(others.begin(), others.end(), stream) > 0) return;
  others.push_back(stream);
}

// As torch's allocator does it: the memory belongs to whoever allocates next on its stream, once
// the streams that were recorded have done what they had been asked for.
void Memory::free(void* address) {
  const Guard guard(lock());
  Allocation* const in = find(reinterpret_cast<uintptr_t>(address));
  if (in == nullptr) return;
  if (in->is_freed) report(text_of(*in) + " is freed twice");
  const Graph* const graph = captured(in->stream);
  if (in->graph != 0) {  // what a graph allocated is for its own later tasks, and for nobody else
    if (graph == nullptr || graph->id != in->graph) return;
    in->freed_index = graph->tasks.size();
    in->is_freed = true;
    return;
  }
  in->is_freed = true;
  for (const int stream : in->other_streams) merge(in->freed, clock_of(stream));
  freed_.push_back(in);
}

void Memory::give_out_again(int stream) {
  for (Allocation* const in : freed_) {
    if (in->stream != stream || in->is_given_out) continue;
    in->is_given_out = true;
    merge(in->freed, clock_of(stream));
    std::vector<Access> uses = in->reads;
    uses.push_back(in->written);
    for (const Access& use : uses) {
      if (use.stamp.is_before(in->freed)) continue;
      report(text_of(use) + " uses " + text_of(*in) + ", and may still run after it was freed");
    }
  }
  release_unreachable();
}

void Memory::release_unreachable() {
  if (running() != nullptr) return;
  const auto is_reachable = [](const Allocation* in) {
    return !in->is_given_out || !have_run(in->freed);
  };
  const auto last = std::partition(freed_.begin(), freed_.end(), is_reachable);
  for (auto it = last; it != freed_.end(); ++it) {
    // Mapped anew, or the kernel would keep each allocation apart.
    mmap(reinterpret_cast<void*>((*it)->begin), (*it)->pages_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  freed_.erase(last, freed_.end());
}

bool Memory::owns(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return base_ != 0 && at >= base_ && at < end_;
}

Allocation* Memory::find(uintptr_t address) {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation& in = (--after)->second;
  return address < in.begin + in.pages_bytes ? &in : nullptr;
}

void Memory::begin_task() { install_handler(); }

void Memory::end_task() {
  for (Allocation* const in : opened_) {
    mprotect(reinterpret_cast<void*>(in->begin), in->pages_bytes, PROT_NONE);
    in->protection = PROT_NONE;
  }
  opened_.clear();
}

bool Memory::open(uintptr_t address, bool is_write) {
  if (running() == nullptr) {
    const Allocation* const in = find(address);  // not locked: this thread is at its end
    print("the host " + std::string(is_write ? "writes" : "reads") +
          " memory of the device: " + (in == nullptr ? hex(address) : text_of(*in)));
    return false;
  }
  Allocation* const in = find(address);
  if (in == nullptr)
    report(name_of(running()->label()) + ": " + hex(address) + " is not allocated");
  check(*in, is_write);
  void* const begin = reinterpret_cast<void*>(in->begin);
  if (in->protection == PROT_NONE) opened_.push_back(in);
  if (in->is_fresh) {
    mprotect(begin, in->pages_bytes, PROT_READ | PROT_WRITE);
    std::memset(begin, kFreshByte, std::min(in->bytes, kFreshBytes));
    in->is_fresh = false;
  }
  in->protection = is_write ? PROT_READ | PROT_WRITE : PROT_READ;
  mprotect(begin, in->pages_bytes, in->protection);
  note(*in, is_write);
  return true;
}

void Memory::check(const Allocation& in, bool is_write) const {
  const Running& now = *running();
  const Task& task = *now.task;
  const auto refuse = [&](const std::string& why) {
    report(name_of(now.label()) + " on stream " + std::to_string(task.stamp.stream) +
           (is_write ? " writes " : " reads ") + text_of(in) + ", " + why);
  };
  if (!in.allocated.is_before(task.clock)) refuse("and does not wait for that stream");
  const bool is_graphs = now.graph != nullptr && now.graph->id == in.graph;
  const bool in_time = is_graphs ? now.index < in.freed_index : task.stamp.is_before(in.freed);
  const bool is_lost = in.graph == 0 ? in.is_given_out : in.is_freed;
  if (is_lost && !in_time) refuse("after it was freed");
  if (!in.written.stamp.is_before(task.clock)) {
    refuse("and does not wait for " + text_of(in.written) + ", which writes it");
  }
  if (!is_write) return;
  for (const Access& read : in.reads) {
    if (!read.stamp.is_before(task.clock)) {
      refuse("and does not wait for " + text_of(read) + ", which reads it");
    }
  }
}

void Memory::note(Allocation& in, bool is_write) {
  const Access access{running()->task->stamp, running()->label()};
  if (is_write) {
    in.written = access;
    in.reads.clear();
    return;
  }
  for (Access& read : in.reads) {
    if (read.stamp.stream == access.stamp.stream) {
      read = access;
      return;
    }
  }
  in.reads.push_back(access);
}

void* Memory::allocate_pinned(size_t bytes) {
  const Guard guard(lock());
  void* data = nullptr;
  if (posix_memalign(&data, kPage, std::max<size_t>(bytes, 1)) != 0) return nullptr;
  std::memset(data, kFreshByte, std::min(bytes, kFreshBytes));
  pinned_[reinterpret_cast<uintptr_t>(data)] = {bytes, {}, false, false};
  return data;
}

void* Memory::pinned_begin(const void* address) {
  const Guard guard(lock());
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto after = pinned_.upper_bound(at);
  if (after == pinned_.begin()) return nullptr;
  --after;
  const bool inside = at < after->first + std::max<size_t>(after->second.bytes, 1);
  return inside ? reinterpret_cast<void*>(after->first) : nullptr;
}

void Memory::use_pinned(void* begin, int stream) {
  const Guard guard(lock());
  Pinned& pinned = pinned_.at(reinterpret_cast<uintptr_t>(begin));
  merge(pinned.uses, clock_of(stream));
  if (captured(stream) != nullptr) pinned.is_captured = true;
}

// Frees it, and memory freed earlier, once the device is done with it; a graph never is.
void Memory::free_pinned(void* address) {
  const Guard guard(lock());
  pinned_.at(reinterpret_cast<uintptr_t>(address)).is_freed = true;
  for (auto it = pinned_.begin(); it != pinned_.end();) {
    Pinned& pinned = it->second;
    if (!pinned.is_freed || pinned.is_captured || !have_run(pinned.uses)) {
      ++it;
      continue;
    }
    std::memset(reinterpret_cast<void*>(it->first), kFreshByte,
                std::min(pinned.bytes, kFreshBytes));
    std::free(reinterpret_cast<void*>(it->first));
    it = pinned_.erase(it);
  }
}

}  // namespace orbbec::lazy
