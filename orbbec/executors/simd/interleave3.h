// Interleaves, deinterleaves and reverses pixels of three channels, 16 bytes at a time. `Target`
// keeps the copies of different targets apart.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace orbbec {

template <class Target>
class Interleave3 {
 public:
  static constexpr int kGroup = 16;  // pixels
  typedef uint8_t Bytes __attribute__((vector_size(kGroup)));

  // The channels of kGroup pixels, from left to right, or right to left if `kReversed`.
  template <bool kReversed>
  static void deinterleave(const uint8_t* from, Bytes (&deinterleaved)[3]) {
    constexpr auto lanes = std::make_integer_sequence<int, kGroup>();
    Bytes bytes[3];
    memcpy(bytes, kReversed ? from - 3 * (kGroup - 1) : from, sizeof(bytes));
    deinterleaved[0] = every_third<kReversed, 0>(bytes, lanes);
    deinterleaved[1] = every_third<kReversed, 1>(bytes, lanes);
    deinterleaved[2] = every_third<kReversed, 2>(bytes, lanes);
  }

  // Values of one, two or four bytes, for as many pixels as fill whole groups; returns their
  // number.
  template <class Value, int kRow>
  static int put_together(const Value (*planes)[kRow], int count, Value* to) {
    using Lanes = typename LanesOf<Value>::Type;
    constexpr int kPixels = sizeof(Lanes) / sizeof(Value);
    const int whole = count / kPixels * kPixels;
    for (int i = 0; i < whole; i += kPixels) {
      Lanes deinterleaved[3];
      for (int c = 0; c < 3; ++c)
        memcpy(&deinterleaved[c], planes[c] + i, sizeof(deinterleaved[c]));
      Lanes pixels[3];
      interleave(deinterleaved, pixels);
      memcpy(to + 3 * i, pixels, sizeof(pixels));
    }
    return whole;
  }

  // Vectors of three channels become vectors of pixels.
  template <class Lanes>
  static void interleave(const Lanes (&channels)[3], Lanes (&pixels)[3]) {
    constexpr auto lanes =
        std::make_integer_sequence<int, sizeof(Lanes) / sizeof(channels[0][0])>();
    pixels[0] = third_of_pixels<0>(channels, lanes);
    pixels[1] = third_of_pixels<1>(channels, lanes);
    pixels[2] = third_of_pixels<2>(channels, lanes);
  }

  // Bytes of `count` pixels from right to left; `from` is the rightmost pixel.
  static void reverse(const uint8_t* from, uint8_t* to, int count) {
    constexpr int kPixels = 5;  // 15 bytes, and one of the next pixel
    int i = 0;
    for (; i + kPixels < count; i += kPixels) {
      Bytes bytes;
      memcpy(&bytes, from - 3 * (i + kPixels) + 2, sizeof(bytes));
      bytes = __builtin_shufflevector(bytes, bytes, 13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2,
                                      3, 0);
      memcpy(to + 3 * i, &bytes, sizeof(bytes));
    }
    for (; i < count; ++i) {
      for (int c = 0; c < 3; ++c) to[3 * i + c] = from[c - 3 * i];
    }
  }

 private:
  template <class Value>
  struct LanesOf {
    using Bits = std::conditional_t<sizeof(Value) == 1, uint8_t,
                                    std::conditional_t<sizeof(Value) == 2, uint16_t, uint32_t>>;
    typedef Bits Type __attribute__((vector_size(16)));
  };

  // The bytes of one channel out of 48.
  template <bool kReversed, int kChannel, int... kLane>
  static Bytes every_third(const Bytes (&bytes)[3], std::integer_sequence<int, kLane...>) {
    constexpr auto source_lane = [](int lane) {
      return 3 * (kReversed ? 15 - lane : lane) + kChannel;
    };
    const Bytes first = __builtin_shufflevector(
        bytes[0], bytes[1], (source_lane(kLane) < 32 ? source_lane(kLane) : 0)...);
    return __builtin_shufflevector(first, bytes[2],
                                   (source_lane(kLane) < 32 ? kLane : source_lane(kLane) - 16)...);
  }

  // The values of third `kIndex` of interleaved pixels.
  template <int kIndex, class Lanes, int... kLane>
  static Lanes third_of_pixels(const Lanes (&channels)[3], std::integer_sequence<int, kLane...>) {
    constexpr int kPixels = sizeof...(kLane);
    constexpr auto channel = [](int lane) { return (kIndex * kPixels + lane) % 3; };
    constexpr auto pixel = [](int lane) { return (kIndex * kPixels + lane) / 3; };
    const Lanes first = __builtin_shufflevector(
        channels[0], channels[1], (channel(kLane) == 1 ? kPixels + pixel(kLane) : pixel(kLane))...);
    return __builtin_shufflevector(first, channels[2],
                                   (channel(kLane) == 2 ? kPixels + pixel(kLane) : kLane)...);
  }
};

}  // namespace orbbec
