// Stores groups of neighboring pixels of an output row. Included by vector_row.h.
#pragma once

#include "../../core/image.h"

namespace orbbec {

// `kClamps`: values may be beyond those of a byte.
template <class Simd, class Out, bool kClamps>
class VectorOutput {
 public:
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  static constexpr bool kRounds = sizeof(Out) == 1;

  // `collects`: the channels of a group are stored one after the other.
  VectorOutput(const Image<Out>& image, int64_t channels, bool collects)
      : image_(image),
        channels_(channels),
        is_packed_(collects && kRounds && image.stride_c == 1 && image.stride_x == channels &&
                   (channels == 3 || channels == 4)) {}

  const Image<Out>& image() const { return image_; }
  // Whether 3 or 4 bytes of a pixel are stored together.
  bool is_packed() const { return is_packed_; }
  // The output column at the image's column 0.
  int begin() const { return begin_; }
  void begin_at(int x) { begin_ = x; }

  Out& at(int y, int x, int64_t c) const { return image_.at(y, x - begin_, c); }

  // All channels of a group of packed pixels.
  template <int kPixel>
  void store_pixels(int y, int x, const Float (&values)[kPixel]) const {
    Int pixels = rounded(values[0]);
#pragma GCC unroll 4
    for (int c = 1; c < kPixel; ++c) pixels |= rounded(values[c]) << (8 * c);
    store_packed<kPixel>(y, x, pixels);
  }

  // Channel c of a group. Packed bytes are collected in `pixels` and stored with the last channel.
  [[gnu::always_inline]] void store(int y, int x, int64_t c, Float values, Int& pixels) const {
    if constexpr (kRounds) {
      if (is_packed_) {
        pixels |= rounded(values) << static_cast<int>(8 * c);
        if (c + 1 < channels_) return;
        return channels_ == 3 ? store_packed<3>(y, x, pixels) : store_packed<4>(y, x, pixels);
      }
      store_bytes(y, x, c, rounded(values));
    } else {
      float floats[Simd::kLanes];
      Out* const to = &at(y, x, c);
      if (image_.stride_x == 1) return Simd::store(to, values);
      Simd::store(floats, values);
      for (int i = 0; i < Simd::kLanes; ++i) to[i * image_.stride_x] = floats[i];
    }
  }

  // Channel c of a group, of bytes.
  [[gnu::always_inline]] void store_bytes(int y, int x, int64_t c, Int values) const {
    if constexpr (kRounds) {
      uint8_t bytes[Simd::kLanes];
      uint8_t* const to = &at(y, x, c);
      if (image_.stride_x == 1) return Simd::store_bytes_1(to, values);
      Simd::store_bytes_1(bytes, values);
      for (int i = 0; i < Simd::kLanes; ++i) to[i * image_.stride_x] = bytes[i];
    } else {
      Int unused;
      store(y, x, c, Simd::to_float(values), unused);
    }
  }

 private:
  static Int rounded(Float values) {
    Int whole = Simd::round(values);
    if (kClamps) whole = whole < 0 ? Int{} : whole > 255 ? Int{} + 255 : whole;
    return whole;
  }

  template <int kPixel>
  void store_packed(int y, int x, Int pixels) const {
    uint8_t* const to = reinterpret_cast<uint8_t*>(&at(y, x, 0));
    kPixel == 3 ? Simd::store_bytes_3(to, pixels) : Simd::store_bytes_4(to, pixels);
  }

  Image<Out> image_;
  int64_t channels_;
  bool is_packed_;
  int begin_ = 0;
};

}  // namespace orbbec
