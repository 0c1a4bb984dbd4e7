#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <system_error>

namespace orbbec::feed {
namespace {

// Signals are for the threads of Python: new threads inherit that all are blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Pool::Pool(const Settings& settings, const Functions& functions)
    : functions_(functions),
      nice_(settings.nice),
      cores_(settings.cores, settings.cores + settings.core_count),
      decoders_(settings.threads) {
  start(decoding_, settings.threads, true);
  start(reading_, settings.readers, false);
  if (decoding_.empty()) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : decoding_) thread.join();
  for (std::thread& thread : reading_) thread.join();
}

void Pool::start(std::vector<std::thread>& threads, int count, bool decodes) try {
  const BlockedSignals blocked;
  threads.reserve(static_cast<size_t>(count));
  while (static_cast<int>(threads.size()) < count) {
    threads.emplace_back(&Pool::run, this, static_cast<int>(threads.size()), decodes);
  }
} catch (const std::system_error&) {  // the system refuses more threads
}

void Pool::resize(int threads) {
  {
    const std::lock_guard lock(mutex_);
    decoders_ = threads;
  }
  work_.notify_all();
  for (; static_cast<int>(decoding_.size()) > threads; decoding_.pop_back())
    decoding_.back().join();
  start(decoding_, threads, true);
}

Batch* Pool::read(const Request& request) {
  auto batch = std::make_unique<Batch>(functions_, request);
  {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch.get());
  }
  work_.notify_all();
  return batch.release();
}

void Pool::decode(Batch& batch, const Output& output) {
  {
    const std::lock_guard lock(mutex_);
    batch.begin_decoding(output);
  }
  work_.notify_all();
}

bool Pool::wait(const Batch& batch, int milliseconds) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                        [&] { return batch.is_done(); });
}

void Pool::free(Batch* batch) {
  const std::unique_ptr<Batch> owner(batch);
  std::unique_lock lock(mutex_);
  batch->cancel();
  done_.wait(lock, [&] { return batch->is_done(); });
  batches_.erase(std::find(batches_.begin(), batches_.end(), batch));
}

void Pool::run(int index, bool decodes) {
  set_up_thread();
  std::unique_lock lock(mutex_);
  for (Task task = next(lock, index, decodes); task.batch != nullptr;
       task = next(lock, index, decodes)) {
    lock.unlock();
    const double seconds = task.batch->work(task.row);
    lock.lock();
    task.batch->give_back(seconds);
    if (task.batch->is_done()) done_.notify_all();
  }
}

// Waits for the next image, or for the end.
Pool::Task Pool::next(std::unique_lock<std::mutex>& lock, int index, bool decodes) {
  for (;; work_.wait(lock)) {
    if (is_ending_ || (decodes && index >= decoders_)) return {nullptr, 0};
    Batch* batch = decodes ? oldest(kDecoding) : nullptr;
    if (batch == nullptr) batch = oldest(kReading);
    if (batch != nullptr) return {batch, batch->take()};
  }
}

Batch* Pool::oldest(Phase phase) const {
  for (Batch* const batch : batches_) {
    if (batch->phase() == phase && batch->has_pending()) return batch;
  }
  return nullptr;
}

void Pool::set_up_thread() const {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "orbbec-feed");
  if (nice_ != 0)
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nice_);  // 0: this one
  if (cores_.empty()) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : cores_) CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
#endif
}

}  // namespace orbbec::feed
