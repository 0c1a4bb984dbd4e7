// Memory of the lazy device. At rest its pages cannot be read or written. A task's first access to
// an allocation faults; the fault handler checks the access and opens the pages for the task.
// Addresses are never given out twice, so that an access after free is always seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "queue.h"

namespace orbbec::lazy {

struct Access {
  Stamp stamp;
  Label label;
};

struct Allocation {
  uintptr_t begin = 0;
  size_t bytes = 0;
  size_t pages_bytes = 0;
  int stream = 0;                  // that of the thread that allocated it
  Stamp allocated;                 // the last task of the stream then
  std::vector<int> other_streams;  // record_stream
  int graph = 0;                   // in whose capture it was allocated; 0: none

  Access written;
  std::vector<Access> reads;  // since then, the last of each stream
  bool is_fresh = true;
  int protection = 0;

  bool is_freed = false;
  bool is_given_out = false;  // to the next allocation on its stream
  Clock freed;                // then: tasks that come before
  size_t freed_index = 0;     // if a graph allocated it: its tasks before this one may use it
};

class Memory {
 public:
  void* allocate(size_t bytes, int stream);
  void free(void* address);
  void record_stream(void* address, int stream);

  // Page-locked memory of the host. The device may read and write it late.
  void* allocate_pinned(size_t bytes);
  void free_pinned(void* address);
  void* pinned_begin(const void* address);  // null: not page-locked
  void use_pinned(void* begin, int stream);

  bool owns(const void* address) const;  // lies where device memory lies
  void begin_task();
  void end_task();
  void release_unreachable();

  // Called by the fault handler; true: the access is right and can now be made.
  bool open(uintptr_t address, bool is_write);

 private:
  Allocation* find(uintptr_t address);
  void give_out_again(int stream);
  void check(const Allocation& in, bool is_write) const;
  void note(Allocation& in, bool is_write);
  void reserve();

  uintptr_t base_ = 0;
  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
  std::map<uintptr_t, Allocation> allocations_;
  std::vector<Allocation*> opened_;
  std::vector<Allocation*> freed_;  // still mapped

  struct Pinned {
    size_t bytes;
    Clock uses;
    bool is_captured;
    bool is_freed;
  };
  std::map<uintptr_t, Pinned> pinned_;
};

Memory& memory();

// Stops the process with this message, the running task and the stack of Python.
[[noreturn]] void report(const std::string& message);

std::string name_of(const Label& label);

}  // namespace orbbec::lazy
