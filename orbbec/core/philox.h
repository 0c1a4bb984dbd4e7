// Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (2011). A number depends only on the key and the counter. Included
// by core/noise.h and noise/philox/.
//
//   key      from (seed, epoch), 64 bits each: see philox_key
//   counter  words 0 and 1: the draw number (48 bits), above it the position in the pipeline
//            (16 bits); words 2 and 3: the sample id (64 bits)
#pragma once

#include "called.h"
#include "normal.h"

namespace orbbec {

// The keys of rounds grow by the golden ratio and by sqrt(3) - 1.
struct PhiloxKey {
  uint32_t low, high;

  ORBBEC_HD uint32_t low_of(int round) const { return low + round * 0x9E3779B9u; }
  ORBBEC_HD uint32_t high_of(int round) const { return high + round * 0xBB67AE85u; }
};

constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxFactors[] = {0xD2511F53u, 0xCD9E8D57u};

// The same, computed before a launch.
struct PhiloxRoundKeys {
  uint32_t low[kPhiloxRounds], high[kPhiloxRounds];

  explicit PhiloxRoundKeys(const PhiloxKey& key) {
    for (int round = 0; round < kPhiloxRounds; ++round) {
      low[round] = key.low_of(round);
      high[round] = key.high_of(round);
    }
  }
  ORBBEC_HD uint32_t low_of(int round) const { return low[round]; }
  ORBBEC_HD uint32_t high_of(int round) const { return high[round]; }
};

struct PhiloxBlock {
  uint32_t words[4];
};

template <class Keys>
ORBBEC_HD PhiloxBlock philox(PhiloxBlock counter, const Keys& keys) {
  uint32_t (&w)[4] = counter.words;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t{kPhiloxFactors[0]} * w[0], b = uint64_t{kPhiloxFactors[1]} * w[2];
    w[0] = static_cast<uint32_t>(b >> 32) ^ w[1] ^ keys.low_of(round);
    w[1] = static_cast<uint32_t>(b);
    w[2] = static_cast<uint32_t>(a >> 32) ^ w[3] ^ keys.high_of(round);
    w[3] = static_cast<uint32_t>(a);
  }
  return counter;
}

// The first two words of the block at counter (epoch, 0) with the seed as key.
ORBBEC_HD PhiloxKey philox_key(uint64_t seed, uint64_t epoch) {
  const PhiloxBlock counter{
      {static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32), 0, 0}};
  const PhiloxBlock block =
      philox(counter, PhiloxKey{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return {block.words[0], block.words[1]};
}

ORBBEC_HD PhiloxBlock philox_counter(uint64_t sample, uint32_t position, uint64_t draw) {
  return {{static_cast<uint32_t>(draw),
           (static_cast<uint32_t>(draw >> 32) & 0xffffu) | (position << 16),
           static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)}};
}

// 0 to 1 - 2^-24, in steps of 2^-24.
ORBBEC_HD float uniform_of(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// -1 to 1 - 2^-23, in steps of 2^-23.
ORBBEC_HD float centered_of(uint32_t word) { return 2.0f * uniform_of(word) - 1.0f; }

// 0 to n - 1 for n >= 1; each has a probability within 2^-32 of 1/n.
ORBBEC_HD uint32_t below_of(uint32_t word, uint32_t n) {
  return static_cast<uint32_t>((uint64_t{word} * n) >> 32);
}

// Sequential draws, for the parameters of a transform.
class PhiloxStream {
 public:
  ORBBEC_HD PhiloxStream(PhiloxKey key, uint64_t sample, uint32_t position)
      : key_(key), sample_(sample), position_(position) {}

  // Computes the block of the next word, if another is there.
  ORBBEC_HD void prepare() {
    const uint64_t index = drawn_ / 4;
    if (index != index_)
      block_ = block(philox_counter(sample_, static_cast<uint32_t>(position_), index), key_);
    index_ = index;
  }
  ORBBEC_HD uint32_t word() {
    prepare();
    return element(block_.words, static_cast<int>(drawn_++ % 4));
  }
  ORBBEC_HD void skip(uint64_t words) { drawn_ += words; }
  ORBBEC_HD float uniform() { return uniform_of(word()); }
  ORBBEC_HD uint32_t below(uint32_t n) { return below_of(word(), n); }
  ORBBEC_HD float normal() {  // uses two words; the second normal of the pair is discarded
    float a, b;
    const uint32_t first = word();
    normals_of(first, word(), a, b);
    return a;
  }

 private:
  ORBBEC_HD_CALLED static PhiloxBlock block(PhiloxBlock counter, PhiloxKey key) {
    return philox(counter, key);
  }

  PhiloxKey key_;
  uint64_t sample_;
  uint64_t position_;             // not of 32 bits, so that no copy in shared memory has padding
  uint64_t drawn_ = 0;            // words
  uint64_t index_ = ~uint64_t{};  // of the block
  PhiloxBlock block_{};
};

}  // namespace orbbec
