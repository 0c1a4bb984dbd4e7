#include "emulation/fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

// AddressSanitizer must be told of every stack switch. Null in a build without it.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                          size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom,
                                                           size_t* bytes);
}

#ifdef __x86_64__
// swapcontext makes a system call and, under AddressSanitizer, clears the shadow of the whole
// stack: 5 us per switch, compared with 0.02 us. So only the registers that the System V ABI makes
// callee-saved are swapped.
extern "C" __attribute__((visibility("hidden"))) void orbbec_emulation_switch(void** save,
                                                                              void* load);
__asm__(R"(
.text
.hidden orbbec_emulation_switch
.globl orbbec_emulation_switch
.type orbbec_emulation_switch, @function
orbbec_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size orbbec_emulation_switch, . - orbbec_emulation_switch
)");
#endif

namespace orbbec::emulation {

namespace {

constexpr size_t kGuardBytes = 4096;
Fiber* leaving = nullptr;

}  // namespace

Fiber::Fiber(size_t stack_bytes) : stack_bytes_(stack_bytes) {
  mapping_ = mmap(nullptr, kGuardBytes + stack_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapping_, kGuardBytes, PROT_NONE);
  stack_ = static_cast<char*>(mapping_) + kGuardBytes;
#ifndef __x86_64__
  getcontext(&context_);
#endif
}

Fiber::~Fiber() {
  if (mapping_ != nullptr) munmap(mapping_, kGuardBytes + stack_bytes_);
}

void Fiber::reset(void (*entry)()) {
  fake_stack_ = nullptr;
#ifdef __x86_64__
  // Six registers, the entry, and the null return address that ends a debugger's backtrace; the
  // entry starts 8 bytes below a multiple of 16, as after a call.
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + stack_bytes_) - 8;
  for (int i = 0; i < 8; ++i) top[i] = 0;
  top[6] = reinterpret_cast<uintptr_t>(entry);
  stack_pointer_ = top;
#else
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#endif
}

void Fiber::switch_to(Fiber& next, bool done) {
  leaving = this;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(done ? nullptr : &fake_stack_, next.stack_, next.stack_bytes_);
  }
#ifdef __x86_64__
  orbbec_emulation_switch(&stack_pointer_, next.stack_pointer_);
#else
  swapcontext(&context_, &next.context_);
#endif
  arrive();
}

void Fiber::arrive() {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
  if (leaving->mapping_ == nullptr) {  // the host's own stack, whose bounds only ASan knows
    leaving->stack_ = static_cast<char*>(const_cast<void*>(bottom));
    leaving->stack_bytes_ = bytes;
  }
}

}  // namespace orbbec::emulation
