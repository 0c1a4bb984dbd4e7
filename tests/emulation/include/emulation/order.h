// The order in which threads and blocks run: ORBBEC_EMULATION_ORDER is `forward`, `reverse`,
// `shuffle` or `shuffle:SEED`. CUDA promises no order, so results may not depend on it.
#pragma once

#include <cstdint>

namespace orbbec::emulation {

// Visits 0 .. count-1 once each: first, first + step, ... modulo count.
class Order {
 public:
  // `salt` gives each use its own shuffle.
  Order(uint64_t count, uint64_t salt);

  uint64_t next() {
    const uint64_t here = at_;
    at_ = here >= count_ - step_ ? here - (count_ - step_) : here + step_;
    return here;
  }

 private:
  uint64_t count_;
  uint64_t at_;
  uint64_t step_;  // prime to count_
};

// Whether the environment says `none`: launches are counted, not run, to time the host alone.
bool skips_launches();

// Reads the environment again. Called once per launch.
void choose_order();

}  // namespace orbbec::emulation
