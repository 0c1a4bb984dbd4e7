// How the images of a call are cut into tiles on a CUDA device. Included by tiles_cuda.h and by
// bindings.
#pragma once

#include "window.h"

namespace orbbec {

constexpr int64_t kMaxTileBytes = 48 * 1024;  // of shared memory, without asking for more

// How the images of a call are cut into tiles.
struct Tiling {
  int group;          // values per pixel of a row: all channels where they lie together, else 1
  int width, height;  // of a tile: values and rows
  int planes = 1;     // of a tile: a block prepares what they have in common once
};

// `tile` is a power of two; on a GPU a division takes longer than to find it.
ORBBEC_HD unsigned tiles_of(int size, int tile) {
  const unsigned last = static_cast<unsigned>(size) + static_cast<unsigned>(tile) - 1;
#if defined(__CUDA_ARCH__)
  return last >> (31 - __clz(tile));
#else
  return last / static_cast<unsigned>(tile);
#endif
}
ORBBEC_HD int at_most(int value, int limit) { return value < limit ? value : limit; }
// `step` is a power of two.
ORBBEC_HD int rounded_up(int value, int step) { return (value + step - 1) & -step; }

// The group of a call: rows of values are counted in int.
inline int group_of(const AnyImages& source, const AnyImages& output) {
  const int64_t longest_row =
      source.layout == nullptr ? source.width * source.channels : source.numel;
  const bool together = is_interleaved(source) && is_interleaved(output);
  return together && longest_row <= 2147483647 - 65536 ? static_cast<int>(source.channels) : 1;
}

}  // namespace orbbec
