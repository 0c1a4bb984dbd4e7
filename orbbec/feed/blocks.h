// Memory for encoded files, used again and again: pages that a thread touches for the first time
// cost more than reading the file. Included by files.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace orbbec::feed {

// Blocks of 2^n bytes, each size with a list of free ones.
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    for (const std::vector<uint8_t*>& blocks : free_) {
      for (uint8_t* const block : blocks) std::free(block);
    }
  }

  // A block of at least `bytes`; null if there is no memory.
  uint8_t* take(size_t bytes) {
    const int power = power_of(bytes);
    {
      const std::lock_guard lock(mutex_);
      std::vector<uint8_t*>& blocks = free_[power];
      if (!blocks.empty()) {
        uint8_t* const block = blocks.back();
        blocks.pop_back();
        return block;
      }
    }
    return static_cast<uint8_t*>(std::malloc(size_t{1} << power));
  }

  // Takes back the block of `take(bytes)`.
  void give(uint8_t* block, size_t bytes) {
    const int power = power_of(bytes);
    if (power > kMaxPower) return std::free(block);
    const std::lock_guard lock(mutex_);
    free_[power].push_back(block);
  }

 private:
  static constexpr int kMinPower = 12, kMaxPower = 26;  // 4 kB; larger than 64 MB is not kept

  static int power_of(size_t bytes) {
    int power = kMinPower;
    while (size_t{1} << power < bytes && power < 62) ++power;
    return power;
  }

  std::mutex mutex_;
  std::array<std::vector<uint8_t*>, 64> free_;
};

}  // namespace orbbec::feed
