// The threads of a feed. They take one image at a time: of the oldest batch that can be decoded,
// else of the oldest one that is read. Included by pool.cpp and entry.cpp.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "batch.h"

namespace orbbec::feed {

class Pool {
 public:
  // Throws std::system_error if no thread can start; fewer threads than wanted are no error.
  Pool(const Settings& settings, const Functions& functions);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  void resize(int threads);

  Batch* read(const Request& request);
  void decode(Batch& batch, const Output& output);
  // Whether the batch's phase is done, after at most this time.
  bool wait(const Batch& batch, int milliseconds);
  // Waits only for the images that a thread works on.
  void free(Batch* batch);

 private:
  struct Task {
    Batch* batch;  // null: the thread ends
    int row;
  };

  void start(std::vector<std::thread>& threads, int count, bool decodes);
  void run(int index, bool decodes);
  void set_up_thread() const;
  Task next(std::unique_lock<std::mutex>& lock, int index, bool decodes);
  Batch* oldest(Phase phase) const;

  const Functions functions_;
  const int nice_;
  const std::vector<int> cores_;
  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<Batch*> batches_;  // oldest first
  int decoders_ = 0;             // that may run
  bool is_ending_ = false;
  std::vector<std::thread> decoding_, reading_;
};

}  // namespace orbbec::feed
