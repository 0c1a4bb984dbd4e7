// Barriers, shuffles, votes and matches. Each takes its source location for reports.
#pragma once

#include <cstring>
#include <type_traits>

#include "emulation/block.h"

#define ORBBEC_EMULATION_LOCATION const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(ORBBEC_EMULATION_LOCATION) {
  orbbec::emulation::meet_block(false, {"__syncthreads", file, line});
}

inline int __syncthreads_count(int predicate, ORBBEC_EMULATION_LOCATION) {
  return orbbec::emulation::meet_block(predicate, {"__syncthreads_count", file, line}).trues;
}

inline int __syncthreads_or(int predicate, ORBBEC_EMULATION_LOCATION) {
  return orbbec::emulation::meet_block(predicate, {"__syncthreads_or", file, line}).trues != 0;
}

inline int __syncthreads_and(int predicate, ORBBEC_EMULATION_LOCATION) {
  const auto counts = orbbec::emulation::meet_block(predicate, {"__syncthreads_and", file, line});
  return counts.trues == counts.threads;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, ORBBEC_EMULATION_LOCATION) {
  orbbec::emulation::meet_warp(mask, 0, orbbec::emulation::lane_index(), false,
                               {"__syncwarp", file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, ORBBEC_EMULATION_LOCATION) {
  return orbbec::emulation::meet_warp(mask, 0, orbbec::emulation::lane_index(), predicate,
                                      {"__ballot_sync", file, line})
      .ballot;
}

inline int __any_sync(unsigned mask, int predicate, ORBBEC_EMULATION_LOCATION) {
  return orbbec::emulation::meet_warp(mask, 0, orbbec::emulation::lane_index(), predicate,
                                      {"__any_sync", file, line})
             .ballot != 0;
}

inline int __all_sync(unsigned mask, int predicate, ORBBEC_EMULATION_LOCATION) {
  // Returned lanes have no vote, so count those that vote no.
  return orbbec::emulation::meet_warp(mask, 0, orbbec::emulation::lane_index(), !predicate,
                                      {"__all_sync", file, line})
             .ballot == 0;
}

// Hardware may run any lanes together; a kernel can only rely on its own.
inline unsigned __activemask() { return 1u << orbbec::emulation::lane_index(); }

namespace orbbec::emulation {

template <class T>
T shuffle(unsigned mask, T value, int source, Location location) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = meet_warp(mask, bits, source, false, location).value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace orbbec::emulation

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, ORBBEC_EMULATION_LOCATION) {
  const int first = orbbec::emulation::lane_index() & ~(width - 1);
  return orbbec::emulation::shuffle(mask, value, first + (source & (width - 1)),
                                    {"__shfl_sync", file, line});
}

template <class T>
unsigned __match_any_sync(unsigned mask, T value, ORBBEC_EMULATION_LOCATION) {
  unsigned same = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    const T other = orbbec::emulation::shuffle(mask, value, lane, {"__match_any_sync", file, line});
    if (other == value) same |= 1u << lane;
  }
  return same;
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 ORBBEC_EMULATION_LOCATION) {
  const int lane = orbbec::emulation::lane_index();
  const int source = lane - static_cast<int>(delta);
  return orbbec::emulation::shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source,
                                    {"__shfl_up_sync", file, line});
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   ORBBEC_EMULATION_LOCATION) {
  const int lane = orbbec::emulation::lane_index();
  const int source = lane + static_cast<int>(delta);
  return orbbec::emulation::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source,
                                    {"__shfl_down_sync", file, line});
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  ORBBEC_EMULATION_LOCATION) {
  const int lane = orbbec::emulation::lane_index();
  const int source = lane ^ lane_mask;
  return orbbec::emulation::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source,
                                    {"__shfl_xor_sync", file, line});
}

#undef ORBBEC_EMULATION_LOCATION
