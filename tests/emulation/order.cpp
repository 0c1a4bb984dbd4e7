#include "emulation/order.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "emulation/block.h"

namespace orbbec::emulation {

namespace {

enum class Kind { kForward, kReverse, kShuffle };
Kind kind = Kind::kForward;
uint64_t seed = 0;

uint64_t skipped = 0;

// SplitMix64's finaliser (Steele, Lea, Flood 2014).
uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

}  // namespace

bool skips_launches() {
  const char* text = std::getenv("ORBBEC_EMULATION_ORDER");
  if (text == nullptr || std::strcmp(text, "none") != 0) return false;
  ++skipped;
  return true;
}

void choose_order() {
  const char* text = std::getenv("ORBBEC_EMULATION_ORDER");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "forward") == 0) {
    kind = Kind::kForward;
  } else if (std::strcmp(text, "reverse") == 0) {
    kind = Kind::kReverse;
  } else if (std::strncmp(text, "shuffle", 7) == 0 && (text[7] == '\0' || text[7] == ':')) {
    kind = Kind::kShuffle;
    seed = text[7] == ':' ? std::strtoull(text + 8, nullptr, 10) : 0;
  } else {
    fail("ORBBEC_EMULATION_ORDER: expected forward, reverse or shuffle:SEED, but got %s", text);
  }
}

Order::Order(uint64_t count, uint64_t salt) : count_(count), at_(0), step_(1) {
  if (count < 2) return;
  if (kind == Kind::kReverse) {
    at_ = step_ = count - 1;
  } else if (kind == Kind::kShuffle) {
    const uint64_t bits = mix(mix(seed + 1) + salt);
    at_ = bits % count;
    step_ = 1 + (bits >> 32) % (count - 1);
    while (std::gcd(step_, count) != 1) step_ = step_ % (count - 1) + 1;
  }
}

}  // namespace orbbec::emulation

extern "C" uint64_t orbbec_skipped_launches() { return orbbec::emulation::skipped; }
