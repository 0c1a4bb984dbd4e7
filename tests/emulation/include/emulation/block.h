// What a kernel's thread requests of its block. Implemented by block.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulation/vector_types.h"

// Of the running thread. The scheduler writes them at every switch.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
constexpr int warpSize = 32;

namespace orbbec::emulation {

// Where in the kernel a thread waits.
struct Location {
  const char* function;  // as CUDA names it
  const char* file;
  int line;
};

struct Counts {
  int threads;
  int trues;
};

// One lane's result of a warp operation. `source` is the lane whose value it takes.
struct WarpResult {
  uint64_t value;
  unsigned ballot;
};

// A kernel with its arguments; `call(function, values)` is called once per thread.
struct Kernel {
  void (*call)(const void* function, void** values);
  const void* function;
  void** values;        // addresses of the arguments, which have `sizes` bytes
  const size_t* sizes;  // ends with 0
};

// Blocks until every thread of the block arrives; returns how many there are, and how many had
// `predicate` set.
Counts meet_block(bool predicate, Location location);

// Blocks until the lanes of `mask` arrive.
WarpResult meet_warp(unsigned mask, uint64_t value, int source, bool predicate, Location location);

int lane_index();
void* dynamic_shared();

// Whether `address` is on the running thread's stack.
bool on_stack(const void* address);

// Runs the whole grid before it returns.
void run_grid(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes);

// Stops the process with a message that names the block and the thread.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);

}  // namespace orbbec::emulation
