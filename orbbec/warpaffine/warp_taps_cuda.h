// Readers: how a thread of the warps' kernel gets the pixels of a row of taps, kSize of each
// channel. Included by warp_cuda.h.
#pragma once

#include "../core/warp.h"
#include "../executors/cuda/bytes.h"

namespace orbbec {

// A pixel of type T in a register, which holds 32 bits: fewer would be converted repeatedly.
template <class T>
using Pixel = std::conditional_t<sizeof(T) == 1, uint32_t, T>;

constexpr int kWarpThreads = 256;  // of a block of the warps' kernel

// Any image and border. What the border does to columns is looked up once per pixel, to rows once
// per row. Many columns are kept in `shared`, [kSize][kWarpThreads], where a thread uses its own:
// in registers they would spill, and the border's rule would be compiled for each.
template <class T, int kSize, int kChannels>
class BorderReader {
 public:
  static constexpr bool kIsInside = false, kIsPacked = false;

  // The image has pixels. `outside`: what a constant or transparent border returns.
  __device__ __forceinline__ BorderReader(const Image<const T>& image, Border border, int x, int y,
                                          int64_t first_channel,
                                          const Pixel<T> (&outside)[kChannels], int* shared)
      : image_(image), border_(border), y_(y), first_channel_(first_channel), shared_(shared) {
    if constexpr (kIsShared) {
#pragma unroll 1
      for (int q = 0; q < kSize; ++q) {
        shared_[q * kWarpThreads] = index(wrapping_add(x, q), image.width);
      }
    } else {
#pragma unroll
      for (int q = 0; q < kSize; ++q) columns_[q] = index(wrapping_add(x, q), image.width);
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) outside_[c] = outside[c];
  }

  __device__ __forceinline__ void read_row(int r, Pixel<T> (&pixels)[kChannels][kSize]) const {
    const int y = index(wrapping_add(y_, r), image_.height);
    const T* const row = &image_.at(y < 0 ? 0 : y, 0, first_channel_);
#pragma unroll
    for (int q = 0; q < kSize; ++q) {
      const int x = column(q);
      const T* const first = row + (x < 0 ? 0 : x) * image_.stride_x;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        const Pixel<T> pixel = first[c * image_.stride_c];
        pixels[c][q] = (x | y) < 0 ? outside_[c] : pixel;
      }
    }
  }

  __device__ __forceinline__ Pixel<T> pixel(int r, int q, int c) const {
    const int x = column(q), y = index(wrapping_add(y_, r), image_.height);
    if ((x | y) < 0) return outside_[c];
    return image_.at(y, x, first_channel_ + c);
  }

 private:
  static constexpr bool kIsShared = kSize > 2;

  __device__ __forceinline__ int column(int q) const {
    if constexpr (kIsShared) {
      return shared_[q * kWarpThreads];
    } else {
      return columns_[q];
    }
  }

  // The index that is read; -1 where the outside is a value.
  __device__ __forceinline__ int index(int i, int size) const {
    if (static_cast<unsigned>(i) < static_cast<unsigned>(size)) return i;
    return outside_is_value(border_) ? -1 : border_index(i, size, border_);
  }

  Image<const T> image_;
  Border border_;
  int y_;
  int64_t first_channel_;
  int* shared_;
  int columns_[kIsShared ? 1 : kSize];
  Pixel<T> outside_[kChannels];
};

// Three channels of bytes, of taps inside the image but not in its first and last row: so that all
// words are inside too. kPixel: bytes from a pixel to the next, 3 or 1.
template <int kSize, int kPixel>
class WordReader {
 public:
  static constexpr bool kIsInside = true, kIsPacked = kPixel == 3;

  __device__ __forceinline__ WordReader(const Image<const uint8_t>& image, int x, int y)
      : stride_y_(image.stride_y), stride_c_(image.stride_c) {
    const uint32_t offset = static_cast<uint32_t>(y) * image.stride_y.elements + x * kPixel;
    first_ = image.data + offset;
  }

  // Value: uint32_t, or BiasedByte if the reader is packed.
  template <class Value>
  __device__ __forceinline__ void read_row(int r, Value (&pixels)[3][kSize]) const {
    const uint8_t* const row = first_ + r * stride_y_;
    if constexpr (kPixel == 3) {
      uint32_t words[3 * kSize / 4 + 1];
      load_bytes<3 * kSize>(row, words);
#pragma unroll
      for (int i = 0; i < 3 * kSize; ++i) {
        if constexpr (std::is_same_v<Value, BiasedByte>) {
          pixels[i % 3][i / 3] = BiasedByte(words[i / 4], i % 4);
        } else {
          pixels[i % 3][i / 3] = byte_of(words[i / 4], i % 4);
        }
      }
    } else {
#pragma unroll
      for (int c = 0; c < 3; ++c) read_channel(row + c * stride_c_, pixels[c]);
    }
  }

  __device__ __forceinline__ uint32_t pixel(int r, int q, int c) const {
    return first_[r * stride_y_ + q * kPixel + c * stride_c_];
  }

 private:
  __device__ __forceinline__ static void read_channel(const uint8_t* row,
                                                      uint32_t (&pixels)[kSize]) {
    if constexpr (kSize == 2) {
      pixels[0] = row[0];
      pixels[1] = row[1];
    } else {
      uint32_t words[kSize / 4 + 1];
      load_bytes<kSize>(row, words);
#pragma unroll
      for (int q = 0; q < kSize; ++q) pixels[q] = byte_of(words[q / 4], q % 4);
    }
  }

  const uint8_t* first_;
  int64_t stride_y_, stride_c_;
};

// Whether and where WordReaders can read an image.
template <int kSize>
struct WordLimits {
  int pixel = 0;  // kPixel; 0: nowhere
  unsigned columns = 0, rows = 0;

  __device__ __forceinline__ WordLimits(const Image<const uint8_t>& image, int64_t channels) {
    constexpr int64_t kWord = 8;  // bytes; a word must not reach beyond the next row
    const int64_t bytes = image.height * image.stride_y;
    if (channels != 3 || image.stride_y < kWord || bytes > Stride::kMax) return;
    if (image.stride_x == 3 && image.stride_c == 1) pixel = 3;
    if (image.stride_x == 1 && image.stride_c >= 0) pixel = 1;
    columns = larger(image.width - kSize + 1, 0);
    rows = larger(image.height - kSize - 1, 0);
  }

  __device__ __forceinline__ bool contain(int x, int y) const {
    return (static_cast<unsigned>(x) < columns) & (static_cast<unsigned>(y) - 1 < rows);
  }

  // Whether all taps from (x, y) on are outside of the image.
  __device__ __forceinline__ static bool miss(int x, int y, const Image<const uint8_t>& image) {
    constexpr unsigned kBefore = kSize - 1;
    return (x + kBefore >= image.width + kBefore) | (y + kBefore >= image.height + kBefore);
  }
};

}  // namespace orbbec
