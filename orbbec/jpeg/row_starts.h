// What is known of the files of this process: where their rows of MCUs start, so that a rectangle
// of a file that was decoded before is decoded without what lies above it and right of it. Files
// are known by their content. Included by decode_cpu.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode.h"

namespace orbbec {

using KnownRows = std::vector<RowStart>;

// 128 bits of a file's content. Whoever makes two files with the same bits gets wrong pixels, and
// no more.
struct ContentKey {
  uint64_t low, high;

  ContentKey(const uint8_t* data, size_t size) {
    uint64_t lanes[4] = {size, ~size, kFactors[0], kFactors[1]};
    for (; size >= 64; data += 64, size -= 64) mix(lanes, data);
    uint8_t last[64] = {};
    std::memcpy(last, data, size);
    mix(lanes, last);
    low = product(lanes[0] ^ kFactors[2], lanes[1] ^ kFactors[3]);
    high = product(lanes[2] ^ kFactors[2], lanes[3] ^ kFactors[3]);
  }
  bool operator==(const ContentKey& other) const { return low == other.low && high == other.high; }

  struct Hash {
    size_t operator()(const ContentKey& key) const { return key.low; }
  };

 private:
  // The fractions of the square roots of 2, 3, 5 and 7.
  static constexpr uint64_t kFactors[4] = {0x6a09e667f3bcc909, 0xbb67ae8584caa73b,
                                           0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1};

  static uint64_t product(uint64_t a, uint64_t b) {
    const auto wide = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(wide) ^ static_cast<uint64_t>(wide >> 64);
  }
  static void mix(uint64_t (&lanes)[4], const uint8_t* block) {
    for (int i = 0; i < 4; ++i) {
      uint64_t words[2];
      std::memcpy(words, block + 16 * i, sizeof(words));
      lanes[i] = product(lanes[i] ^ words[0], words[1] ^ kFactors[i]) ^ words[1];
    }
  }
};

// About the last files that were asked for: at the limit, the older half goes.
class RowStartCache {
 public:
  std::shared_ptr<const KnownRows> find(const ContentKey& key) {
    Map past;  // destroyed without the lock, which takes long
    const std::lock_guard lock(mutex_);
    if (const auto found = young_.find(key); found != young_.end()) return found->second;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    const auto rows = found->second;
    old_.erase(found);
    add(key, rows, past);
    return rows;
  }

  void put(const ContentKey& key, KnownRows&& rows) {
    const auto shared = std::make_shared<const KnownRows>(std::move(rows));
    Map past;
    const std::lock_guard lock(mutex_);
    add(key, shared, past);
  }

  std::mutex& mutex() { return mutex_; }

 private:
  using Map = std::unordered_map<ContentKey, std::shared_ptr<const KnownRows>, ContentKey::Hash>;
  static constexpr size_t kMaxBytes = size_t{1} << 28;  // 600,000 photographs of 24 rows
  static constexpr size_t kNodeBytes = 128;             // of the map and of malloc

  // The files that go are in `past` then.
  void add(const ContentKey& key, const std::shared_ptr<const KnownRows>& rows, Map& past) {
    young_[key] = rows;
    young_bytes_ += kNodeBytes + rows->size() * sizeof(RowStart);
    if (young_bytes_ < kMaxBytes / 2) return;
    past = std::exchange(old_, std::exchange(young_, {}));
    young_bytes_ = 0;
  }

  std::mutex mutex_;
  Map young_, old_;
  size_t young_bytes_ = 0;
};

}  // namespace orbbec
