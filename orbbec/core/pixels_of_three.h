// Pixels of three channels side by side: taken apart, put together, turned; 16 bytes at a time.
// `Machine` keeps the functions of unlike targets apart.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace orbbec {

template <class Machine>
class PixelsOfThree {
 public:
  static constexpr int kGroup = 16;  // pixels
  typedef uint8_t Bytes __attribute__((vector_size(kGroup)));

  // The channels of kGroup pixels, from the left or, turned, from the right.
  template <bool kTurned>
  static void take_apart(const uint8_t* from, Bytes (&apart)[3]) {
    constexpr auto lanes = std::make_integer_sequence<int, kGroup>();
    Bytes bytes[3];
    memcpy(bytes, kTurned ? from - 3 * (kGroup - 1) : from, sizeof(bytes));
    apart[0] = every_third<kTurned, 0>(bytes, lanes);
    apart[1] = every_third<kTurned, 1>(bytes, lanes);
    apart[2] = every_third<kTurned, 2>(bytes, lanes);
  }

  // Values of one, two or four bytes, of as many pixels as are whole groups of them; how many.
  template <class Value, int kRow>
  static int put_together(const Value (*planes)[kRow], int count, Value* to) {
    using Lanes = typename LanesOf<Value>::Type;
    constexpr int kPixels = sizeof(Lanes) / sizeof(Value);
    constexpr auto lanes = std::make_integer_sequence<int, kPixels>();
    const int whole = count / kPixels * kPixels;
    for (int i = 0; i < whole; i += kPixels) {
      Lanes apart[3];
      for (int c = 0; c < 3; ++c) memcpy(&apart[c], planes[c] + i, sizeof(apart[c]));
      const Lanes pixels[3] = {third_of_pixels<0>(apart, lanes), third_of_pixels<1>(apart, lanes),
                               third_of_pixels<2>(apart, lanes)};
      memcpy(to + 3 * i, pixels, sizeof(pixels));
    }
    return whole;
  }

  // Bytes of `count` pixels, of which `from` is the rightmost, from the right.
  static void turn(const uint8_t* from, uint8_t* to, int count) {
    constexpr int kPixels = 5;  // 15 bytes, and one of the pixel that follows
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

  // Of 48 bytes those of a channel.
  template <bool kTurned, int kChannel, int... kLane>
  static Bytes every_third(const Bytes (&bytes)[3], std::integer_sequence<int, kLane...>) {
    constexpr auto place = [](int lane) { return 3 * (kTurned ? 15 - lane : lane) + kChannel; };
    const Bytes first =
        __builtin_shufflevector(bytes[0], bytes[1], (place(kLane) < 32 ? place(kLane) : 0)...);
    return __builtin_shufflevector(first, bytes[2],
                                   (place(kLane) < 32 ? kLane : place(kLane) - 16)...);
  }

  // Of three channels, the values of part `kPart` of their pixels.
  template <int kPart, class Lanes, int... kLane>
  static Lanes third_of_pixels(const Lanes (&channels)[3], std::integer_sequence<int, kLane...>) {
    constexpr int kPixels = sizeof...(kLane);
    constexpr auto channel = [](int lane) { return (kPart * kPixels + lane) % 3; };
    constexpr auto pixel = [](int lane) { return (kPart * kPixels + lane) / 3; };
    const Lanes first = __builtin_shufflevector(
        channels[0], channels[1], (channel(kLane) == 1 ? kPixels + pixel(kLane) : pixel(kLane))...);
    return __builtin_shufflevector(first, channels[2],
                                   (channel(kLane) == 2 ? kPixels + pixel(kLane) : kLane)...);
  }
};

}  // namespace orbbec
