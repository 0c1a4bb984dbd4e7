// Blocked channels: an image in blocks of 256 bytes per pixel, each a channels-last image that fits
// a core's cache, for vectors over channels. Included by roi_align/roi_vectors.h and
// roi_pool_cpu.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../core/image.h"
#include "../core/scalar.h"
#include "../executors/simd/halves.h"

#define ORBBEC_INLINE __attribute__((always_inline))

namespace orbbec {

constexpr int kBlockBytes =
    256;  // 4 vectors of AVX-512: enough independent sums to hide the latency of an addition

// Larger images would make blocks of more than 64 MB.
constexpr int64_t kMaxBlockPixels = 1 << 18;

template <class F>
constexpr int kBlockChannels = kBlockBytes / sizeof(F);

// One block of an image; the channels of a pixel are contiguous.
template <class F>
struct ChannelBlock {
  const F* data;
  int64_t stride_y, stride_x;
  int64_t origin;  // offset of the first stored pixel from pixel (0, 0)

  ORBBEC_HD const F* at(int y, int x) const {
    return data + (y * stride_y + x * stride_x - origin);
  }
};

// Block `index` of `channels`. If there are enough channels, the last block starts early enough to
// be full; the channels that it has in common with the previous block are not written again.
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

// The vectors of `kBytes` that make up a block's channels of a pixel.
template <class F, int kBytes>
struct BlockVectors {
  typedef F Vector __attribute__((vector_size(kBytes), aligned(sizeof(F)), may_alias));
  static constexpr int kCount = kBlockBytes / kBytes;
};

template <class F>
int64_t block_count(int64_t channels) {
  return (channels + kBlockChannels<F> - 1) / kBlockChannels<F>;
}

// Memory for blocks, aligned so that no vector crosses a cache line.
template <class F>
class BlockBuffer {
 public:
  BlockBuffer() = default;
  explicit BlockBuffer(int64_t pixels) { reserve(pixels); }
  BlockBuffer(const BlockBuffer&) = delete;
  ~BlockBuffer() { ::operator delete(data_, kAlignment); }

  // Discards the contents.
  void reserve(int64_t pixels) {
    if (pixels <= pixels_) return;
    ::operator delete(data_, kAlignment);
    data_ = nullptr;
    pixels_ = 0;
    data_ = static_cast<F*>(::operator new(pixels * kBlockBytes, kAlignment));
    pixels_ = pixels;
  }

  F* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  F* data_ = nullptr;
  int64_t pixels_ = 0;
};

// Values that are copied without conversion, four at a time.
template <class T, class F>
constexpr bool kCopiesWords = std::is_same_v<T, F> && sizeof(T) == 4;

typedef int32_t Vec4Words __attribute__((vector_size(16), aligned(4), may_alias));

// Transposes 4 rows of 4 words; `from` and `to` are strides in words.
template <class T>
void transpose_4x4(const T* source, int64_t from, T* target, int64_t to) {
  const auto row = [&](int i) { return *reinterpret_cast<const Vec4Words*>(source + i * from); };
  const Vec4Words a = row(0), b = row(1), c = row(2), d = row(3);
  const Vec4Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Vec4Words ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Vec4Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Vec4Words cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto column = [&](int i) -> Vec4Words& {
    return *reinterpret_cast<Vec4Words*>(target + i * to);
  };
  column(0) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  column(1) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  column(2) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  column(3) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// Pixels [0, width) from `source`, whose channels are `stride_c` apart, to the rows of a block.
template <class T, class F>
void to_block(const T* source, int64_t stride_x, int64_t stride_c, int64_t width, int channels,
              F* block) {
  constexpr int kBlock = kBlockChannels<F>;
  constexpr int64_t kRun = 16;  // pixels: a cache line of each channel
  const bool by_vec4 = kCopiesWords<T, F> && stride_x == 1;
  for (int64_t x0 = 0; x0 < width; x0 += kRun) {
    const int64_t end = std::min(x0 + kRun, width);
    int64_t done = x0;
    if constexpr (kCopiesWords<T, F>) {
      if (by_vec4) done = x0 + (end - x0) / 4 * 4;
      for (int c = 0; c + 4 <= channels; c += 4) {
        for (int64_t x = x0; x < done; x += 4)
          transpose_4x4(source + x + c * stride_c, stride_c, block + x * kBlock + c, kBlock);
      }
    }
    for (int64_t x = x0; x < end; ++x) {
      F* const to = block + x * kBlock;
      const T* const from = source + x * stride_x;
      for (int c = x < done ? channels / 4 * 4 : 0; c < channels; ++c)
        to[c] = load<T>(from[c * stride_c]);
      for (int c = channels; c < kBlock; ++c) to[c] = F(0);
    }
  }
}

// The inverse, for channels [first, channels) of the block; `target` is channel 0.
template <class T, class F>
void from_block(const F* block, int64_t width, int first, int channels, T* target, int64_t stride_x,
                int64_t stride_c) {
  constexpr int kBlock = kBlockChannels<F>;
  if (stride_c == 1) {
    for (int64_t x = 0; x < width; ++x) {
      for (int c = first; c < channels; ++c)
        target[x * stride_x + c] = store<T>(block[x * kBlock + c]);
    }
    return;
  }
  int c = first;
  if constexpr (kIsHalf<T>) {
    constexpr int64_t kPixels = 64;  // of a row, whose values stay in L1
    float values[kPixels];
    const Simd level = simd_level();
    for (; stride_x == 1 && c < channels; ++c) {
      for (int64_t x = 0; x < width; x += kPixels) {
        const int64_t count = std::min(width - x, kPixels);
        for (int64_t i = 0; i < count; ++i) values[i] = block[(x + i) * kBlock + c];
        to_halves(values, target + c * stride_c + x, count, level);
      }
    }
  }
  if constexpr (kCopiesWords<T, F>) {
    for (; stride_x == 1 && c + 4 <= channels; c += 4) {
      T* const to = target + c * stride_c;
      int64_t x = 0;
      for (; x + 4 <= width; x += 4)
        transpose_4x4(block + x * kBlock + c, kBlock, to + x, stride_c);
      for (; x < width; ++x) {
        for (int i = 0; i < 4; ++i) to[x + i * stride_c] = block[x * kBlock + c + i];
      }
    }
  }
  for (; c < channels; ++c) {
    T* const to = target + c * stride_c;
    for (int64_t x = 0; x < width; ++x) to[x * stride_x] = store<T>(block[x * kBlock + c]);
  }
}

}  // namespace orbbec
