// Reused memory for encoded files: pages that a thread touches for the first time
// cost more than reading the file. Included by files.h.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace orbbec::feed {

// Blocks of 2^n bytes, each size with a list of free ones.
class Blocks {
 public:
  // A block of at least `bytes`; null if there is no memory.
  uint8_t* take(size_t bytes) {
    const int power = power_of(bytes);
    {
      const std::lock_guard lock(mutex_);
      if (FreeBlock* const block = free_[power]; block != nullptr) {
        free_[power] = block->next;
        free_bytes_ -= size_t{1} << power;
        return reinterpret_cast<uint8_t*>(block);
      }
    }
    return static_cast<uint8_t*>(std::malloc(size_t{1} << power));
  }

  // Takes back the block of `take(bytes)`.
  void give(uint8_t* memory, size_t bytes) {
    const int power = power_of(bytes);
    const std::lock_guard lock(mutex_);
    if (free_bytes_ + (size_t{1} << power) > kMaxFreeBytes) return std::free(memory);
    free_bytes_ += size_t{1} << power;
    free_[power] = new (memory) FreeBlock{free_[power]};
  }

  std::mutex& mutex() { return mutex_; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };

  static constexpr int kMinPower = 12;                      // 4 kB, a page
  static constexpr size_t kMaxFreeBytes = size_t{1} << 28;  // the files of some batches

  static int power_of(size_t bytes) {
    int power = kMinPower;
    while (size_t{1} << power < bytes && power < 62) ++power;
    return power;
  }

  std::mutex mutex_;
  std::array<FreeBlock*, 63> free_{};
  size_t free_bytes_ = 0;
};

// Those of all feeds of this process.
inline constinit Blocks shared_blocks;

// A process forked while another thread has the lock would wait for it for ever.
inline const int kHasForkHandlers =
    pthread_atfork([] { shared_blocks.mutex().lock(); }, [] { shared_blocks.mutex().unlock(); },
                   [] { shared_blocks.mutex().unlock(); });

}  // namespace orbbec::feed
