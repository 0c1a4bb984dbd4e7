// Shared by the decoders of files other than JPEG, each a shared library with a C interface,
// without Python or torch. Included by png.cpp, png_rows.h and webp.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace orbbec {

// The results of the entry points. Files that are kOther, and in Python also those that are
// kDamaged, are left to Pillow, which has rules for all of them.
enum CodecStatus { kDecoded, kDamaged, kOther };

constexpr int kMessageBytes = 200;

// codecs.py declares the same struct.
struct ImageHeader {
  int32_t height, width;            // as stored
  int32_t channels;                 // that keep all of the file: 1, 3 or 4
  uint64_t exif_offset, exif_size;  // the EXIF block; 0 bytes if there is none
};

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
// first use of a page costs more than unfiltering it, unless it is large.
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

// Pillow's conversion from RGB to L.
inline uint8_t luma(const Rgba& color) {
  return (color.red * 19595 + color.green * 38470 + color.blue * 7471 + (1 << 15)) >> 16;
}

template <int kChannels>
void write(const Rgba& color, uint8_t* out) {
  if constexpr (kChannels == 1) {
    *out = luma(color);
  } else {
    std::memcpy(out, &color, kChannels);
  }
}

// Pixels of kSamples samples, of which 16 bits keep the upper 8. The color `key` is transparent.
template <int kSamples, int kBytes>
struct Direct {
  const Rgba* key;

  Rgba operator()(const uint8_t* row, int64_t x) const {
    const uint8_t* const at = row + x * (kSamples * kBytes);
    if constexpr (kSamples == 2) return {at[0], at[0], at[0], at[kBytes]};
    Rgba color{at[0], at[kBytes], at[2 * kBytes], 255};
    if constexpr (kSamples == 4) {
      color.alpha = at[3 * kBytes];
    } else if (key != nullptr && std::memcmp(key, &color, 3) == 0) {
      color.alpha = 0;
    }
    return color;
  }
};

// Writes `count` pixels of a row, from the pixel `begin` on.
template <int kChannels, class Samples>
void write_pixels(const Samples& samples, const uint8_t* row, int64_t begin, int64_t count,
                  uint8_t* out, ptrdiff_t stride) {
  int64_t x = begin;
  if (kChannels == 3 && stride == 3) {  // 4 bytes at a time; the next pixel overwrites the last
    for (; x < begin + count - 1; ++x, out += 3) write<4>(samples(row, x), out);
  }
  for (; x < begin + count; ++x, out += stride) write<kChannels>(samples(row, x), out);
}

}  // namespace orbbec
