// How a value between pixels is computed, with OpenCV 5's float arithmetic. A sampler has two
// steps: `locate` (once per pixel) maps a source position to a tap; `read` (once per channel) maps
// the tap to a pixel, and `value` to the pixel before rounding.
//
// Both are made of steps for executors that read the kSize x kSize pixels from (x, y) of the tap
// themselves: `weights_of` (once per pixel), `add_row` (once per row of taps and channel, from the
// top) and `rounded`; `rounded_inside`, for uint8 an integer whose last byte counts, is cheaper if
// all taps are inside. Where `returns_outside`, the value is that outside the image. Pixels may
// also be wider integers than T, or of a type that has its own `load` and `difference`.
#pragma once

#include "border.h"
#include "image.h"
#include "scalar.h"

namespace orbbec {

template <class F>
struct Point {
  F x, y;
};

// One source image. `fill` is the border value of the current channel; `outside` is what a constant
// border (that value) or a transparent one (the previous output) returns.
template <class T>
struct Source {
  Image<const T> image;
  Border border;
  T fill;

  ORBBEC_HD T tap(int x, int y, int64_t c, T outside) const {
    if (image.contains(y, x)) return image.at(y, x, c);
    if (outside_is_value(border)) return outside;
    return image.at(border_index(y, image.height, border), border_index(x, image.width, border), c);
  }
};

template <class F>
ORBBEC_HD bool is_finite(F value) {
  return value - value == F(0);
}

struct NearestSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_5;
  static constexpr int kSize = 1;
  template <class T>
  struct Tap {
    int x, y;
    bool valid;
  };
  template <class T>
  using Weights = Tap<T>;
  template <class T>
  using Sum = T;

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>&, int64_t n, int y,
                                 int x) {
    const auto at = transform.fused(n, y, x);
    return {round_to_int(at.x), round_to_int(at.y), is_finite(at.x) && is_finite(at.y)};
  }

  template <class T>
  ORBBEC_HD static Compute<T> value(const Source<T>& source, const Tap<T>& tap, int64_t c,
                                    T outside) {
    return load(read(source, tap, c, outside));
  }

  template <class T>
  ORBBEC_HD static T read(const Source<T>& source, const Tap<T>& tap, int64_t c, T outside) {
    return source.tap(tap.x, tap.y, c, outside);
  }

  template <class T>
  ORBBEC_HD static bool returns_outside(const Tap<T>&, const Image<const T>&, Border) {
    return false;
  }
  template <class T>
  ORBBEC_HD static Tap<T> weights_of(const Tap<T>& tap) {
    return tap;
  }
  template <class T, class Pixel>
  ORBBEC_HD static void add_row(const Tap<T>&, int, const Pixel (&pixels)[1], T& sum) {
    sum = pixels[0];
  }
  template <class T>
  ORBBEC_HD static T rounded(T sum) {
    return sum;
  }
  template <class T>
  ORBBEC_HD static T rounded_inside(T sum) {
    return sum;
  }
};

struct LinearSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_5;
  static constexpr int kSize = 2;
  template <class T>
  struct Tap {
    int x, y;
    Compute<T> a, b;  // how far right of x, below y, in [0, 1]
    bool valid;
  };
  template <class T>
  using Weights = Tap<T>;
  template <class T>
  using Sum = Compute<T>;

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>&, int64_t n, int y,
                                 int x) {
    using F = Compute<T>;
    const auto at = transform.fused(n, y, x);
    const int left = floor_to_int(at.x), top = floor_to_int(at.y);
    return {.x = left,
            .y = top,
            .a = F(at.x) - static_cast<F>(left),
            .b = F(at.y) - static_cast<F>(top),
            .valid = is_finite(at.x) && is_finite(at.y)};
  }

  // Rounds once per step, as written: a + t (b - a) with the product fused into the sum.
  template <class F, class Pixel>
  ORBBEC_HD static F mix(F t, Pixel from, Pixel to) {
    return fused_multiply_add(t, difference(to, from), load(from));
  }

  template <class T>
  ORBBEC_HD static bool is_outside(const Tap<T>& tap, const Image<const T>& image) {
    return tap.x < -1 || tap.x >= image.width || tap.y < -1 || tap.y >= image.height;
  }

  template <class T>
  ORBBEC_HD static T read(const Source<T>& source, const Tap<T>& tap, int64_t c, T outside) {
    return store<T>(value(source, tap, c, outside));
  }

  // Returned as it is: the formula makes NaN of four infinite values.
  template <class T>
  ORBBEC_HD static bool returns_outside(const Tap<T>& tap, const Image<const T>& image,
                                        Border border) {
    return outside_is_value(border) && is_outside(tap, image);
  }

  template <class T>
  ORBBEC_HD static Tap<T> weights_of(const Tap<T>& tap) {
    return tap;
  }
  template <class T, class Pixel>
  ORBBEC_HD static void add_row(const Tap<T>& tap, int r, const Pixel (&pixels)[2],
                                Compute<T>& sum) {
    const Compute<T> row = mix(tap.a, pixels[0], pixels[1]);
    sum = r == 0 ? row : mix(tap.b, sum, row);
  }
  template <class T>
  ORBBEC_HD static T rounded(Compute<T> sum) {
    return store<T>(sum);
  }
  // The sum is not beyond the pixels, as a and b are from 0 to 1.
  template <class T>
  ORBBEC_HD static auto rounded_inside(Compute<T> sum) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return bits_of(sum + 0x1p23f);  // rounded by the sum
    } else {
      return rounded<T>(sum);
    }
  }

  template <class T>
  ORBBEC_HD static Compute<T> value(const Source<T>& source, const Tap<T>& tap, int64_t c,
                                    T outside) {
    if (returns_outside(tap, source.image, source.border)) return load(outside);
    const int right = wrapping_add(tap.x, 1), bottom = wrapping_add(tap.y, 1);
    const T above[2] = {source.tap(tap.x, tap.y, c, outside), source.tap(right, tap.y, c, outside)};
    const T below[2] = {source.tap(tap.x, bottom, c, outside),
                        source.tap(right, bottom, c, outside)};
    Compute<T> sum;
    add_row(tap, 0, above, sum);
    add_row(tap, 1, below, sum);
    return sum;
  }
};

// Keys' cubic with A = -0.75. OpenCV processes a row in blocks of 128 pixels and groups of 8. A
// group entirely outside gets the exact border value; any other pixel the weighted sum of border
// values, which differs in the last bits of a float.
struct CubicSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_5;
  static constexpr int kBlock = 128, kGroup = 8;
  static constexpr int kSize = 4;
  template <class T>
  struct Tap {
    int x, y;  // of the upper left of 4 x 4 pixels
    Compute<T> a, b;
    bool valid;
  };
  template <class T>
  struct Weights {
    Compute<T> x[4], y[4];
  };
  template <class T>
  using Sum = Compute<T>;

  template <class F>
  ORBBEC_HD static F clamp_position(F position, int size) {
    const F reach = size > 16 ? size : 16;
    const F low = -reach, high = 2 * reach;
    return position < low ? low : position > high ? high : position;
  }

  template <class T, class F>
  ORBBEC_HD static Tap<T> tap_at(Point<F> at, const Image<const T>& image) {
    const F x = clamp_position(at.x, image.width), y = clamp_position(at.y, image.height);
    const int left = floor_to_int(x), top = floor_to_int(y);
    return {.x = wrapping_add(left, -1),
            .y = wrapping_add(top, -1),
            .a = Compute<T>(x - static_cast<F>(left)),
            .b = Compute<T>(y - static_cast<F>(top)),
            .valid = is_finite(at.x) && is_finite(at.y)};
  }

  template <class T>
  ORBBEC_HD static bool is_outside(const Tap<T>& tap, const Image<const T>& image) {
    return !tap.valid || tap.x < -4 || tap.x >= image.width || tap.y < -4 || tap.y >= image.height;
  }

  // The first and one past the last column of the group of column x.
  struct Group {
    int first, last;
    bool padded;  // fewer than 8: OpenCV pads with positions (0, 0), which are inside
  };
  ORBBEC_HD static Group group_of(int x, int width) {
    const int block = x / kBlock * kBlock;
    const int length = width - block < kBlock ? width - block : kBlock;
    const int offset = x - block;
    if (length < kGroup) return {block, block + length, true};
    const bool shifted = length % kGroup != 0 && offset >= length - kGroup;
    const int first = shifted ? length - kGroup : offset / kGroup * kGroup;
    return {block + first, block + first + kGroup, false};
  }

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>& source, int64_t n,
                                 int y, int x) {
    const Image<const T>& image = source.image;
    Tap<T> tap = tap_at<T>(transform.unfused(n, y, x), image);
    if (std::is_integral_v<T> || source.border != Border::kConstant || !is_outside(tap, image))
      return tap;
    const Group group = group_of(x, transform.width);
    bool outside = !group.padded;
    for (int i = group.first; i < group.last && outside; ++i) {
      outside = is_outside(tap_at<T>(transform.unfused(n, y, i), image), image);
    }
    if (outside) tap.valid = false;
    return tap;
  }

  template <class F>
  ORBBEC_HD static void weights(F t, F w[4]) {
    constexpr F A = F(-0.75);
    const F square = t * t, rest = F(1) - t, rest_square = rest * rest;
    w[0] = A * (t * rest_square);
    w[1] = fused_multiply_add(square, fused_multiply_add(A + F(2), t, -(A + F(3))), F(1));
    w[3] = A * (square * rest);
    w[2] = ((F(1) - w[0]) - w[1]) - w[3];
  }

  template <class T>
  ORBBEC_HD static bool returns_outside(const Tap<T>&, const Image<const T>&, Border) {
    return false;  // `valid` says it
  }
  template <class T>
  ORBBEC_HD static Weights<T> weights_of(const Tap<T>& tap) {
    Weights<T> w;
    weights(tap.a, w.x);
    weights(tap.b, w.y);
    return w;
  }
  // The first sum is 0.
  template <class T, class Pixel>
  ORBBEC_HD static void add_row(const Weights<T>& w, int r, const Pixel (&pixels)[4],
                                Compute<T>& sum) {
    Compute<T> row = load(pixels[0]) * w.x[0];
    for (int q = 1; q < 4; ++q) row = fused_multiply_add(load(pixels[q]), w.x[q], row);
    sum = fused_multiply_add(row, element(w.y, r), sum);
  }
  template <class T>
  ORBBEC_HD static T rounded(Compute<T> sum) {
    return store<T>(sum);
  }
  // The weights are from -1 to 1, so that sums of bytes are in the range of int.
  template <class T>
  ORBBEC_HD static auto rounded_inside(Compute<T> sum) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return clamp_int(round_in_range(sum), 0, 255);
    } else {
      return rounded<T>(sum);
    }
  }

  template <class T>
  ORBBEC_HD static T read(const Source<T>& source, const Tap<T>& tap, int64_t c, T outside) {
    return store<T>(value(source, tap, c, outside));
  }

  template <class T>
  ORBBEC_HD static Compute<T> value(const Source<T>& source, const Tap<T>& tap, int64_t c,
                                    T outside) {
    const Weights<T> w = weights_of(tap);
    Compute<T> sum = 0;
    ORBBEC_ROLLED
    for (int r = 0; r < 4; ++r) {
      const int y = tap.y + r;  // a loop over the pixels would pass them through memory
      const T pixels[4] = {source.tap(tap.x, y, c, outside), source.tap(tap.x + 1, y, c, outside),
                           source.tap(tap.x + 2, y, c, outside),
                           source.tap(tap.x + 3, y, c, outside)};
      add_row(w, r, pixels, sum);
    }
    return sum;
  }
};

}  // namespace orbbec
