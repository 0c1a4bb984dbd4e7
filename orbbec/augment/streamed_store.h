// Stores that bypass the caches, for outputs too large to stay there: no line is fetched only to be
// overwritten. Included under a target; `Target` keeps the copies apart and stores a line with its
// widest store: on some CPUs, 16-byte streaming stores take three times as long.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orbbec {

constexpr int64_t kStreamedBytes = int64_t{1} << 20;  // of an output: about a core's L2 cache

// Values of a row. Where gcc knows that a copy is short, it inlines `rep movs`, which starts
// slowly. Rows of whole lines leave nothing to copy, for which a call would cost as much.
inline void copy_values(void* to, const void* from, size_t nbytes) {
  if (nbytes == 0) return;
  asm("" : "+r"(nbytes));
  memcpy(to, from, nbytes);
}

template <class Target>
class StreamedStore {
 public:
  // Whole lines of long rows bypass the caches; partial lines are stored normally.
  static void copy(void* to, const void* from, size_t nbytes) {
#if defined(__x86_64__)
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    if (nbytes >= 4 * kLine) {
      const size_t before = -reinterpret_cast<uintptr_t>(target) % kLine;
      copy_values(target, source, before);
      target += before, source += before, nbytes -= before;
      for (; nbytes >= kLine; target += kLine, source += kLine, nbytes -= kLine) {
        Target::stream_line(target, source);
      }
    }
    copy_values(target, source, nbytes);
#else
    memcpy(to, from, nbytes);
#endif
  }

  // Required before other threads may read the stored data.
  static void finish() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }

 private:
  static constexpr size_t kLine = 64;
};

}  // namespace orbbec
