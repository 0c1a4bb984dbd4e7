// Channels of an image in blocks of 256 bytes, each block a channels-last image of its own that
// fits a core's cache: what vectors over channels read and write. Included by core/roi_cpu.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "image.h"
#include "scalar.h"

namespace orbbec {

constexpr int kBlockBytes =
    256;  // 4 vectors of AVX-512: as many sums as hide an addition's latency

template <class F>
constexpr int kBlockChannels = kBlockBytes / sizeof(F);

// One block of an image; the channels of a pixel lie side by side.
template <class F>
struct ChannelBlock {
  const F* data;
  int64_t stride_y, stride_x;

  ORBBEC_HD const F* at(int y, int x) const { return data + y * stride_y + x * stride_x; }
};

// Block `index` of `channels`. The last one begins early enough to be whole, if there are enough
// channels; what it shares with the block before is not written again.
template <class F>
struct BlockChannels {
  int64_t first, written;  // channels
  int count;

  BlockChannels(int64_t index, int64_t channels)
      : first(std::max<int64_t>(0,
                                std::min(index * kBlockChannels<F>, channels - kBlockChannels<F>))),
        written(index * kBlockChannels<F>),
        count(static_cast<int>(std::min<int64_t>(kBlockChannels<F>, channels))) {}
};

template <class F>
int64_t block_count(int64_t channels) {
  return (channels + kBlockChannels<F> - 1) / kBlockChannels<F>;
}

// Pixels [0, width) from `source`, whose channels are `stride_c` apart, to the rows of a block.
template <class T, class F>
void to_block(const T* source, int64_t stride_x, int64_t stride_c, int64_t width, int channels,
              F* block) {
  constexpr int64_t kRun = 16;  // pixels: a cache line of each channel
  for (int64_t x0 = 0; x0 < width; x0 += kRun) {
    const int64_t end = std::min(x0 + kRun, width);
    for (int64_t x = x0; x < end; ++x) {
      F* const to = block + x * kBlockChannels<F>;
      const T* const from = source + x * stride_x;
      for (int c = 0; c < channels; ++c) to[c] = load<T>(from[c * stride_c]);
      for (int c = channels; c < kBlockChannels<F>; ++c) to[c] = F(0);
    }
  }
}

// The way back, of channels [first, channels) of the block; `target` is that of channel 0.
template <class T, class F>
void from_block(const F* block, int64_t width, int first, int channels, T* target, int64_t stride_x,
                int64_t stride_c) {
  if (stride_c == 1) {
    for (int64_t x = 0; x < width; ++x) {
      for (int c = first; c < channels; ++c)
        target[x * stride_x + c] = store<T>(block[x * kBlockChannels<F> + c]);
    }
    return;
  }
  for (int c = first; c < channels; ++c) {
    T* const to = target + c * stride_c;
    for (int64_t x = 0; x < width; ++x)
      to[x * stride_x] = store<T>(block[x * kBlockChannels<F> + c]);
  }
}

}  // namespace orbbec
