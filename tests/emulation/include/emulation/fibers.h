// Stacks for waiting threads. Included by block.cpp and fibers.cpp.
#pragma once

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace orbbec::emulation {

class Fiber {
 public:
  Fiber() = default;  // stands for the stack that the host thread runs on
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to this fiber calls `entry` on an empty stack. `entry` never returns.
  void reset(void (*entry)());

  // Suspends this fiber, the running one, and resumes `next`. With `done`, this one does not run
  // again before a reset.
  void switch_to(Fiber& next, bool done);

  // Must be called first by each `entry`.
  void arrive();

  bool contains(const void* address) const {
    return address >= stack_ && address < stack_ + stack_bytes_;
  }

 private:
#ifdef __x86_64__
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_{};
#endif
  void* mapping_ = nullptr;  // guard page, then the stack
  char* stack_ = nullptr;    // its lowest address
  size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
};

}  // namespace orbbec::emulation
