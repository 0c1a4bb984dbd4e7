// What a kernel's thread asks of the block it runs in. Implemented by block.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulation/vector_types.h"

// The running thread's. The scheduler writes them at every switch.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
constexpr int warpSize = 32;

namespace orbbec::emulation {

// Where in the kernel a thread waits.
struct Place {
  const char* function;  // as CUDA names it
  const char* file;
  int line;
};

struct Counts {
  int threads;
  int trues;
};

// One lane's part in a warp operation. `source` is the lane whose value it takes.
struct WarpResult {
  uint64_t value;
  unsigned ballot;
};

// A kernel with its arguments; called once per thread.
struct Kernel {
  void (*call)(void* arguments);
  void* arguments;
};

// Blocks until every thread of the block is here; says how many there are and came with
// `predicate`.
Counts meet_block(bool predicate, Place place);

// Blocks until the lanes of `mask` are here.
WarpResult meet_warp(unsigned mask, uint64_t value, int source, bool predicate, Place place);

int lane_index();
void* dynamic_shared();

// Whether `address` lies on the running thread's stack.
bool on_stack(const void* address);

// Runs the whole grid before it returns.
void run_grid(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes);

// Stops the process with a message that names the block and the thread.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);

}  // namespace orbbec::emulation
