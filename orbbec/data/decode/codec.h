// Shared by the decoders of files other than JPEG, each a shared library with a C interface,
// without Python or torch. Included by png.cpp and webp.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../feed/feed.h"

namespace orbbec {

// The results of the entry points. Files that are kOther, and in Python also those that are
// kDamaged, are left to Pillow, which has rules for all of them.
enum CodecStatus { kDecoded, kDamaged, kOther };

using feed::ImageHeader;  // codecs.py declares the same struct
using feed::kMessageBytes;

// A rectangle of the stored image and where its pixels go: the first, and the strides in bytes
// between rows and pixels, which encode an orientation and may be negative.
struct Target {
  int left, top, width, height, channels;
  uint8_t* first;
  ptrdiff_t row_stride, pixel_stride;

  bool is_within(const ImageHeader& image, char* message) const {
    const bool is_known = channels == 1 || channels == 3 || channels == 4;
    if (is_known && left >= 0 && top >= 0 && width >= 1 && height >= 1 &&
        left + int64_t{width} <= image.width && top + int64_t{height} <= image.height) {
      return true;
    }
    std::snprintf(message, kMessageBytes, "rectangle %d, %d, %dx%dx%d of an image of %dx%d", left,
                  top, height, width, channels, image.height, image.width);
    return false;
  }
  uint8_t* at(int y, int x) const {
    return first + (y - top) * row_stride + (x - left) * pixel_stride;
  }
};

// Memory for the length of a call, one at a time in a thread. A thread uses it again, since the
// first use of a page is slow, unless it is large.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    thread_local Memory reused;
    thread_local size_t reused_bytes = 0;
    if (bytes > kMaxReused) {
      large_.reset(static_cast<uint8_t*>(std::malloc(bytes)));
      data_ = large_.get();
      return;
    }
    if (bytes > reused_bytes) {
      reused.reset();  // before the next is allocated
      reused.reset(static_cast<uint8_t*>(std::malloc(bytes)));
      reused_bytes = reused == nullptr ? 0 : bytes;
    }
    data_ = reused.get();
  }
  // Null if there was no memory.
  uint8_t* data() const { return data_; }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<uint8_t[], Free>;
  static constexpr size_t kMaxReused = 1 << 24;

  Memory large_;
  uint8_t* data_;
};

struct Rgba {
  uint8_t red, green, blue, alpha;
};

// Pixel `x` of a row of gray, RGB or RGBA.
template <int kSamples>
Rgba pixel(const uint8_t* row, int64_t x) {
  const uint8_t* const at = row + x * kSamples;
  if constexpr (kSamples == 1) return {at[0], at[0], at[0], 255};
  if constexpr (kSamples == 3) return {at[0], at[1], at[2], 255};
  if constexpr (kSamples == 4) return {at[0], at[1], at[2], at[3]};
}

// L is Pillow's conversion from RGB.
template <int kChannels>
void write(const Rgba& color, uint8_t* out) {
  if constexpr (kChannels == 1) {
    *out = (color.red * 19595 + color.green * 38470 + color.blue * 7471 + (1 << 15)) >> 16;
  } else {
    std::memcpy(out, &color, kChannels);
  }
}

template <int kSamples, int kChannels>
void write_pixels(const uint8_t* row, int y, const Target& target) {
  const ptrdiff_t stride = target.pixel_stride;
  uint8_t* out = target.at(y, target.left);
  if (kSamples == kChannels && stride == kChannels) {
    std::memcpy(out, row + int64_t{target.left} * kSamples, int64_t{target.width} * kSamples);
    return;
  }
  int64_t x = target.left;
  const int64_t end = x + target.width;
  if (kChannels == 3 && stride == 3) {  // 4 bytes at a time; the next pixel overwrites the last
    for (; x < end - 1; ++x, out += 3) write<4>(pixel<kSamples>(row, x), out);
  }
  for (; x < end; ++x, out += stride) write<kChannels>(pixel<kSamples>(row, x), out);
}

// Writes the pixels of row `y` of the image that are in the rectangle.
template <int kSamples>
void write_row(const uint8_t* row, int y, const Target& target) {
  if (y < target.top || y >= target.top + int64_t{target.height}) return;
  if (target.channels == 1) write_pixels<kSamples, 1>(row, y, target);
  if (target.channels == 3) write_pixels<kSamples, 3>(row, y, target);
  if (target.channels == 4) write_pixels<kSamples, 4>(row, y, target);
}

}  // namespace orbbec
