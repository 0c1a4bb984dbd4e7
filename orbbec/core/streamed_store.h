// Stores of outputs that are too large to stay in the caches until they are read: past them, so
// that no line is fetched first only to be overwritten. Included under a target; `Machine` keeps
// its functions apart, and stores a line by the widest store of its target: on some CPUs stores of
// 16 bytes past the caches take three times as long.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

constexpr int64_t kStreamedBytes = int64_t{1} << 20;  // of an output: about a core's own cache

template <class Machine>
class StreamedStore {
 public:
  // Whole lines past the caches, what is left of others as ever.
  static void copy(void* to, const void* from, size_t nbytes) {
#if defined(__x86_64__)
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    const size_t before = -reinterpret_cast<uintptr_t>(target) % kLine;
    if (nbytes >= before + kLine) {
      memcpy(target, source, before);
      target += before, source += before, nbytes -= before;
      for (; nbytes >= kLine; target += kLine, source += kLine, nbytes -= kLine) {
        Machine::stream_line(target, source);
      }
    }
    memcpy(target, source, nbytes);
#else
    memcpy(to, from, nbytes);
#endif
  }

  // Before another thread is told of what was stored.
  static void finish() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }

 private:
  static constexpr size_t kLine = 64;
};

}  // namespace orbbec
