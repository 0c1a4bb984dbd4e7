// Runs a block: thread after thread on one stack until one has to wait; only that one keeps the
// stack. A kernel without barriers is thus a simple loop. A waiting thread is resumed before
// another is started, which keeps few alive and interleaves them as little as CUDA allows, so that
// missing synchronization shows.
#include "emulation/block.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulation/fibers.h"
#include "emulation/order.h"
#include "emulation/races.h"
#include "emulation/runtime.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace orbbec::emulation {

namespace {

constexpr size_t kStackBytes = 256 * 1024;  // per thread; sanitizers enlarge every frame

enum class State : unsigned char { kNew, kRunning, kAtBarrier, kAtWarp, kReady, kDone };

struct Thread {
  uint3 index;
  State state;
  Fiber* fiber;       // while it waits
  Location location;  // where it waits
  unsigned mask;
  int source;
  uint64_t value;
  bool predicate;
  WarpResult result;
};

class Block {
 public:
  void run_grid(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes);
  void work();
  Counts meet_block(bool predicate, Location location);
  WarpResult meet_warp(unsigned mask, uint64_t value, int source, bool predicate,
                       Location location);
  int current() const { return current_; }
  void* shared() const { return shared_; }
  bool running() const { return running_; }
  bool on_stack(const void* address) const { return fiber_->contains(address); }

 private:
  void run(uint64_t block);
  void run_thread(int thread);
  void resume(int thread);
  void arrive(State state, Location location);
  void make_ready(int thread);
  void suspend();
  void leave(Fiber& next, bool done);
  Fiber& idle_fiber();
  void try_complete(int first, unsigned mask);
  void complete(int first, unsigned mask, unsigned lanes);
  [[noreturn]] void fail_stuck() const;
  [[noreturn]] void fail_barrier(const Thread& thread, const char* what) const;

  Kernel kernel_{};
  int count_ = 0;  // of threads
  std::vector<Thread> threads_;
  std::vector<int> in_warp_operation_;  // waiting lanes of each warp
  bool running_ = false;
  void* shared_ = nullptr;

  uint64_t salt_ = 0;
  Order order_{1, 0};
  int started_ = 0;
  int finished_ = 0;
  int current_ = 0;
  std::vector<int> ready_;  // threads to resume, starting at next_ready_
  size_t next_ready_ = 0;

  int at_barrier_ = 0;
  int trues_ = 0;
  Location barrier_{};
  Counts counts_{};

  Fiber host_;
  Fiber* fiber_ = nullptr;  // the running one
  std::vector<Fiber*> idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

Block& block() {
  static Block* const only = new Block;  // outlives the other statics
  return *only;
}

void Block::run_grid(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes) {
  kernel_ = kernel;
  gridDim = grid;
  blockDim = block;
  count_ = static_cast<int>(block.x * block.y * block.z);
  threads_.assign(count_, Thread{});
  for (int i = 0; i < count_; ++i) {
    const unsigned t = i;
    threads_[i].index = {t % block.x, t / block.x % block.y, t / block.x / block.y};
  }
  in_warp_operation_.assign((count_ + 31) / 32, 0);
  // A separate heap block, so that AddressSanitizer guards both ends.
  if (shared_bytes > 0 && posix_memalign(&shared_, 1024, shared_bytes) != 0) {
    fail("no memory for %zu bytes of shared memory", shared_bytes);
  }
  running_ = true;
  salt_ = 0;
  races_begin_grid(count_, shared_, shared_bytes);
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  Order order(blocks, 0);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = order.next();
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / grid.x / grid.y)};
    if (shared_bytes > 0) std::memset(shared_, kFreshByte, shared_bytes);
    run(b);
  }
  races_end_grid();
  running_ = false;
  std::free(shared_);
  shared_ = nullptr;
}

void enter_fiber() { block().work(); }

void Block::run(uint64_t block) {
  races_begin_block(block);
  for (Thread& thread : threads_) thread.state = State::kNew;
  order_ = Order(count_, ++salt_);
  started_ = finished_ = 0;
  fiber_ = &host_;
  leave(idle_fiber(), false);
  races_run_thread(-1);
}

// The body of every fiber: resumes a ready thread, else starts the next one here.
void Block::work() {
  fiber_->arrive();
  while (true) {
    if (next_ready_ < ready_.size()) {
      idle_.push_back(fiber_);
      leave(*threads_[ready_[next_ready_]].fiber, true);
    } else if (started_ < count_) {
      ++started_;
      run_thread(static_cast<int>(order_.next()));
    } else if (finished_ == count_) {
      idle_.push_back(fiber_);
      leave(host_, true);
    } else {
      fail_stuck();
    }
  }
}

void Block::run_thread(int thread) {
  resume(thread);
  kernel_.call(kernel_.function, kernel_.values);
  Thread& self = threads_[thread];
  self.state = State::kDone;
  ++finished_;
  if (at_barrier_ > 0) fail_barrier(self, "returned");
  if (in_warp_operation_[thread / 32] > 0) {  // the others need not wait for this lane any more
    const int first = thread / 32 * 32;
    for (int i = first; i < first + 32 && i < count_; ++i) {
      if (threads_[i].state == State::kAtWarp) try_complete(first, threads_[i].mask);
    }
  }
}

void Block::resume(int thread) {
  current_ = thread;
  threads_[thread].state = State::kRunning;
  threadIdx = threads_[thread].index;
  races_run_thread(thread);
}

void Block::arrive(State state, Location location) {
  threads_[current_].state = state;
  threads_[current_].location = location;
  threads_[current_].fiber = fiber_;
}

void Block::make_ready(int thread) {
  threads_[thread].state = State::kReady;
  ready_.push_back(thread);
}

// Runs others until the current thread is next, which may be at once.
void Block::suspend() {
  const int thread = current_;
  if (next_ready_ == ready_.size() && started_ == count_) fail_stuck();
  if (next_ready_ == ready_.size()) {
    leave(idle_fiber(), false);
  } else if (ready_[next_ready_] != thread) {
    leave(*threads_[ready_[next_ready_]].fiber, false);
  }
  if (++next_ready_ == ready_.size()) {  // this thread was the front
    ready_.clear();
    next_ready_ = 0;
  }
  resume(thread);
}

void Block::leave(Fiber& next, bool done) {
  Fiber& self = *fiber_;
  fiber_ = &next;
  self.switch_to(next, done);
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(kStackBytes));
    idle_.push_back(fibers_.back().get());
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  fiber.reset(enter_fiber);
  return fiber;
}

Counts Block::meet_block(bool predicate, Location location) {
  if (at_barrier_ == 0) barrier_ = location;
  const bool same = location.line == barrier_.line &&
                    std::strcmp(location.file, barrier_.file) == 0 &&
                    std::strcmp(location.function, barrier_.function) == 0;
  arrive(State::kAtBarrier, location);
  if (!same) fail_barrier(threads_[current_], "waits at another");
  ++at_barrier_;
  trues_ += predicate;
  if (finished_ > 0) {
    for (const Thread& thread : threads_) {
      if (thread.state == State::kDone) fail_barrier(thread, "returned");
    }
  }
  if (at_barrier_ == count_) {
    counts_ = {count_, trues_};
    at_barrier_ = trues_ = 0;
    races_meet_block();
    Order order(count_, ++salt_);
    for (int i = 0; i < count_; ++i) make_ready(static_cast<int>(order.next()));
  }
  suspend();
  return counts_;
}

WarpResult Block::meet_warp(unsigned mask, uint64_t value, int source, bool predicate,
                            Location location) {
  const int first = current_ / 32 * 32;
  Thread& self = threads_[current_];
  if ((mask >> (current_ - first) & 1u) == 0) {
    fail("%s at %s:%d: lane %d is not in its own mask 0x%08x", location.function, location.file,
         location.line, current_ - first, mask);
  }
  self.mask = mask;
  self.value = value;
  self.source = source;
  self.predicate = predicate;
  arrive(State::kAtWarp, location);
  ++in_warp_operation_[first / 32];
  try_complete(first, mask);
  suspend();
  return self.result;
}

// Completes the operation of the lanes of `mask` in the warp that begins at thread `first`, if all
// of them that have not returned are there.
void Block::try_complete(int first, unsigned mask) {
  unsigned lanes = 0;
  const char* function = nullptr;
  for (int i = 0; i < 32 && first + i < count_; ++i) {
    const Thread& thread = threads_[first + i];
    if ((mask >> i & 1u) == 0 || thread.state == State::kDone) continue;
    if (thread.state != State::kAtWarp || thread.mask != mask) return;
    if (function == nullptr) function = thread.location.function;
    if (std::strcmp(function, thread.location.function) != 0) return;
    lanes |= 1u << i;
  }
  complete(first, mask, lanes);
}

void Block::complete(int first, unsigned mask, unsigned lanes) {
  unsigned ballot = 0;
  for (int i = 0; i < 32; ++i) {
    if ((lanes >> i & 1u) && threads_[first + i].predicate) ballot |= 1u << i;
  }
  bool orders_memory = false;
  Order order(32, ++salt_);
  for (int i = 0; i < 32; ++i) {
    const int lane = static_cast<int>(order.next());
    if ((lanes >> lane & 1u) == 0) continue;
    Thread& thread = threads_[first + lane];
    if (thread.source < 0 || thread.source > 31 || (lanes >> thread.source & 1u) == 0) {
      fail("%s at %s:%d: lane %d reads lane %d, which does not take part (mask 0x%08x)",
           thread.location.function, thread.location.file, thread.location.line, lane,
           thread.source, mask);
    }
    thread.result = {threads_[first + thread.source].value, ballot};
    orders_memory = std::strcmp(thread.location.function, "__syncwarp") == 0;
    --in_warp_operation_[first / 32];
    make_ready(first + lane);
  }
  if (orders_memory) races_meet_warp(first, lanes);
}

void Block::fail_barrier(const Thread& thread, const char* what) const {
  const Thread* other = nullptr;
  for (const Thread& t : threads_) {
    if (t.state == State::kAtBarrier && &t != &thread) other = &t;
  }
  if (other == nullptr) other = &threads_[current_];
  const bool elsewhere = thread.state != State::kDone;
  const std::string where = elsewhere ? std::string(" (") + thread.location.function + " at " +
                                            thread.location.file + ":" +
                                            std::to_string(thread.location.line) + ")"
                                      : std::string();
  fail(
      "%s at %s:%d: not every thread of the block gets there: thread (%u, %u, %u) waits, thread "
      "(%u, %u, %u) %s%s",
      barrier_.function, barrier_.file, barrier_.line, other->index.x, other->index.y,
      other->index.z, thread.index.x, thread.index.y, thread.index.z, what, where.c_str());
}

void Block::fail_stuck() const {
  const Thread* warp = nullptr;
  const Thread* other = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state == State::kAtWarp && warp == nullptr) warp = &thread;
  }
  for (const Thread& thread : threads_) {
    const bool waits = thread.state == State::kAtBarrier || thread.state == State::kAtWarp;
    if (!waits || &thread == warp || warp == nullptr) continue;
    const bool elsewhere = thread.state == State::kAtBarrier || thread.mask != warp->mask ||
                           std::strcmp(thread.location.function, warp->location.function) != 0;
    if (elsewhere && other == nullptr) other = &thread;
  }
  if (warp == nullptr || other == nullptr) fail("threads wait for one another for ever");
  fail(
      "%s at %s:%d: not every lane of mask 0x%08x gets there: thread (%u, %u, %u) waits, thread "
      "(%u, %u, %u) is in %s at %s:%d",
      warp->location.function, warp->location.file, warp->location.line, warp->mask, warp->index.x,
      warp->index.y, warp->index.z, other->index.x, other->index.y, other->index.z,
      other->location.function, other->location.file, other->location.line);
}

}  // namespace

Counts meet_block(bool predicate, Location location) {
  return block().meet_block(predicate, location);
}

WarpResult meet_warp(unsigned mask, uint64_t value, int source, bool predicate, Location location) {
  return block().meet_warp(mask, value, source, predicate, location);
}

int lane_index() { return block().current() % 32; }

void* dynamic_shared() { return block().shared(); }

bool on_stack(const void* address) { return block().on_stack(address); }

void run_grid(Kernel kernel, dim3 grid, dim3 block_size, size_t shared_bytes) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (skips_launches()) return;
  choose_order();
  block().run_grid(kernel, grid, block_size, shared_bytes);
}

void fail(const char* format, ...) {
  std::fprintf(stderr, "orbbec emulation: ");
  if (block().running()) {
    std::fprintf(stderr, "block (%u, %u, %u), thread (%u, %u, %u): ", blockIdx.x, blockIdx.y,
                 blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  }
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::abort();
}

}  // namespace orbbec::emulation
