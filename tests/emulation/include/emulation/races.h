// Notifications from the scheduler to the race detector; no-ops in a build without one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orbbec::emulation {

#ifdef ORBBEC_EMULATION_RACES

void races_begin_grid(int block_threads, void* dynamic_shared, size_t shared_bytes);
void races_begin_block(uint64_t block);
void races_run_thread(int thread);  // -1: the host runs
void races_meet_block();
void races_meet_warp(int first_thread, unsigned lanes);
void races_end_grid();

#else

inline void races_begin_grid(int, void*, size_t) {}
inline void races_begin_block(uint64_t) {}
inline void races_run_thread(int) {}
inline void races_meet_block() {}
inline void races_meet_warp(int, unsigned) {}
inline void races_end_grid() {}

#endif

}  // namespace orbbec::emulation
