// OpenCV 4's fixed-point arithmetic: positions in 1/32 pixel, weights of 15 bits for uint8. Lanczos
// in every version. The two steps are those of the samplers of sampling.h.
#pragma once

#include "lanczos4.h"
#include "sampling.h"

namespace orbbec {

constexpr int kFractions = 32;         // of a pixel
constexpr int kWeightOne = 1 << 15;    // the fixed-point weight that means 1
constexpr int kWeightRound = 1 << 14;  // half of it

// A position as in OpenCV 4: whole pixels, saturated to 16 bits, and 1/32 pixels.
struct FixedPoint {
  int x, y;
  int fraction_x, fraction_y;
};

struct NearestFixedSampler : NearestSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_4;

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>&, int64_t n, int y,
                                 int x) {
    const FixedPoint at = transform.fixed_nearest(n, y, x);
    return {at.x, at.y, true};
  }
};

struct LinearFixedSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_4;
  static constexpr int kSize = 2;
  template <class T>
  struct Tap {
    int x, y;
    int fraction_x, fraction_y;
    bool valid;
  };
  template <class T>
  struct Weights {
    int w[4];
  };
  template <class T>
  using Sum = std::conditional_t<std::is_same_v<T, uint8_t>, int, Compute<T>>;

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>&, int64_t n, int y,
                                 int x) {
    const FixedPoint at = transform.fixed(n, y, x);
    return {.x = at.x,
            .y = at.y,
            .fraction_x = at.fraction_x,
            .fraction_y = at.fraction_y,
            .valid = true};
  }

  template <class T>
  ORBBEC_HD static bool is_outside(const Tap<T>& tap, const Image<const T>& image) {
    return tap.x >= image.width || tap.x + 1 < 0 || tap.y >= image.height || tap.y + 1 < 0;
  }

  // In units of 1/1024: exact both as integers and as floats.
  template <class T>
  ORBBEC_HD static void weights(const Tap<T>& tap, int w[4]) {
    const int fx = tap.fraction_x, fy = tap.fraction_y;
    w[0] = (kFractions - fx) * (kFractions - fy);
    w[1] = fx * (kFractions - fy);
    w[2] = (kFractions - fx) * fy;
    w[3] = fx * fy;
  }

  template <class T>
  ORBBEC_HD static T read(const Source<T>& source, const Tap<T>& tap, int64_t c, T outside) {
    int w[4];
    weights(tap, w);
    if (source.border == Border::kTransparent) return read_transparent(source, tap, w, c, outside);
    if (returns_outside(tap, source.image, source.border)) return outside;
    return blend<T>(source.tap(tap.x, tap.y, c, outside), source.tap(tap.x + 1, tap.y, c, outside),
                    source.tap(tap.x, tap.y + 1, c, outside),
                    source.tap(tap.x + 1, tap.y + 1, c, outside), w);
  }

  // Returned as it is: the weighted sum of four equal floats is not always that float.
  template <class T>
  ORBBEC_HD static bool returns_outside(const Tap<T>& tap, const Image<const T>& image,
                                        Border border) {
    return border == Border::kConstant && is_outside(tap, image);
  }

  // These steps are for the other borders than the transparent one.
  template <class T>
  ORBBEC_HD static Weights<T> weights_of(const Tap<T>& tap) {
    Weights<T> all;
    weights(tap, all.w);
    return all;
  }
  template <class T, class Pixel>
  ORBBEC_HD static void add_row(const Weights<T>& weights, int r, const Pixel (&pixels)[2],
                                Sum<T>& sum) {
    add_row<T>(weights.w[2 * r], weights.w[2 * r + 1], r, pixels, sum);
  }
  template <class T, class Pixel>
  ORBBEC_HD static void add_row(int left, int right, int r, const Pixel (&pixels)[2], Sum<T>& sum) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      sum = (r == 0 ? 512 : sum) + static_cast<int>(pixels[0]) * left +
            static_cast<int>(pixels[1]) * right;
    } else {
      using F = Compute<T>;
      constexpr F kUnit = F(1) / F(kFractions * kFractions);
      const F first = load(pixels[0]) * (F(left) * kUnit);
      sum = (r == 0 ? first : sum + first) + load(pixels[1]) * (F(right) * kUnit);
    }
  }
  template <class T>
  ORBBEC_HD static T rounded(Sum<T> sum) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return static_cast<T>(sum >> 10);
    } else {
      return store<T>(sum);
    }
  }

  template <class T>
  ORBBEC_HD static T rounded_inside(Sum<T> sum) {
    return rounded<T>(sum);
  }

  template <class T>
  ORBBEC_HD static T blend(T p00, T p01, T p10, T p11, const int w[4]) {
    const T above[2] = {p00, p01}, below[2] = {p10, p11};
    Sum<T> sum;
    add_row<T>(w[0], w[1], 0, above, sum);
    add_row<T>(w[2], w[3], 1, below, sum);
    return rounded<T>(sum);
  }

  // A pixel is written if its upper left tap is inside; taps past the last column or row pass their
  // weight to the others.
  template <class T>
  ORBBEC_HD static T read_transparent(const Source<T>& source, const Tap<T>& tap, int w[4],
                                      int64_t c, T outside) {
    const Image<const T>& image = source.image;
    if (!image.contains(tap.y, tap.x)) return outside;
    const bool right = tap.x + 1 < image.width, below = tap.y + 1 < image.height;
    const T p00 = image.at(tap.y, tap.x, c);
    const T p01 = right ? image.at(tap.y, tap.x + 1, c) : T{};
    const T p10 = below ? image.at(tap.y + 1, tap.x, c) : T{};
    const T p11 = right && below ? image.at(tap.y + 1, tap.x + 1, c) : T{};
    if (right && below) return blend<T>(p00, p01, p10, p11, w);
    if (!right) w[1] = w[3] = 0;
    if (!below) w[2] = w[3] = 0;
    const int available = w[0] + w[1] + w[2] + w[3];
    if (available == 0) return outside;
    if constexpr (std::is_same_v<T, uint8_t>) {
      // OpenCV's table holds 32767 and 1 in the corners where the fraction is (0, 0); only the
      // first tap is available here.
      const int scale =
          tap.fraction_x == 0 && tap.fraction_y == 0 ? kWeightOne - 1 : available * 32;
      const int sum = p00 * (w[0] * 32 == kWeightOne ? kWeightOne - 1 : w[0] * 32) +
                      (p01 * w[1] + p10 * w[2]) * 32;
      const int value =
          static_cast<int>(static_cast<float>(sum) * 32768.0f / static_cast<float>(scale));
      return static_cast<T>(clamp_int((value + kWeightRound) >> 15, 0, 255));
    } else {
      using F = Compute<T>;
      constexpr float kUnit = 1.0f / (kFractions * kFractions);
      F sum = load(p00) * F(w[0] * kUnit);
      sum = sum + load(p01) * F(w[1] * kUnit);
      sum = sum + load(p10) * F(w[2] * kUnit);
      return store<T>(sum / F(available * kUnit));
    }
  }
};

struct CubicKernel {
  static constexpr int kSize = 4;
  ORBBEC_HD static void weights(int fraction, float w[4]) {
    constexpr float A = -0.75f;
    const float x = static_cast<float>(fraction) * (1.0f / kFractions);
    w[0] = ((A * (x + 1) - 5 * A) * (x + 1) + 8 * A) * (x + 1) - 4 * A;
    w[1] = ((A + 2) * x - (A + 3)) * x * x + 1;
    w[2] = ((A + 2) * (1 - x) - (A + 3)) * (1 - x) * (1 - x) + 1;
    w[3] = 1.0f - w[0] - w[1] - w[2];
  }
};

struct Lanczos4Kernel {
  static constexpr int kSize = 8;
  ORBBEC_HD static void weights(int fraction, float w[8]) {
    for (int i = 0; i < 8; ++i) w[i] = lanczos4_weight(fraction, i);
  }
};

// Separable kernels as OpenCV 4 tabulates them: for uint8, the products of the two weights are
// rounded to 15 bits, and the difference of their sum from 1 is added to one of the middle four.
template <class Kernel>
struct TabulatedSampler {
  static constexpr Arithmetic kArithmetic = Arithmetic::kCv2_4;
  static constexpr int kSize = Kernel::kSize;
  template <class T>
  struct Tap {
    int x, y;  // of the upper left pixel
    int fraction_x, fraction_y;
    int corrected, correction;  // the index of the corrected product, and the correction
    bool valid;
  };

  // Weights in x are scaled by kWeightOne, which rounds nothing.
  ORBBEC_HD static float scaled_weight(float wx) { return wx * static_cast<float>(kWeightOne); }

  // Of column q, saturated to 16 bits: only a product of two weights of 1, those of the pixel left
  // of the position and above it, exceeds them.
  ORBBEC_HD static int fixed_weight(float wy, float scaled_wx, int q) {
    const int weight = round_in_range(wy * scaled_wx);
    return q == kSize / 2 - 1 ? smaller(weight, kWeightOne - 1) : weight;
  }

  // Sets the correction, for products whose sum is `sum`. `wx` is scaled; of the weights in y,
  // `middle` are the two from kSize / 2 on.
  template <class T>
  ORBBEC_HD static void correct(Tap<T>& tap, int sum, const float (&wx)[kSize],
                                const float (&middle)[2]) {
    constexpr int kHalf = kSize / 2;
    const int first = fixed_weight(middle[0], wx[kHalf], kHalf);
    int smallest = first, largest = first, at_smallest = kHalf * kSize + kHalf,
        at_largest = at_smallest;
    for (int r = 0; r < 2; ++r) {
      for (int q = kHalf; q < kHalf + 2; ++q) {
        const int w = fixed_weight(middle[r], wx[q], q);
        if (w < smallest) {
          smallest = w;
          at_smallest = (kHalf + r) * kSize + q;
        } else if (w > largest) {
          largest = w;
          at_largest = (kHalf + r) * kSize + q;
        }
      }
    }
    tap.correction = kWeightOne - sum;
    tap.corrected = tap.correction > 0 ? at_largest : at_smallest;
  }

  template <class T>
  ORBBEC_HD static void correct(Tap<T>& tap) {
    float wx[kSize], wy[kSize];
    Kernel::weights(tap.fraction_x, wx);
    Kernel::weights(tap.fraction_y, wy);
    for (float& weight : wx) weight = scaled_weight(weight);
    int sum = 0;
    ORBBEC_ROLLED
    for (int r = 0; r < kSize; ++r) {
      const float row_weight = element(wy, r);
      for (int q = 0; q < kSize; ++q) sum += fixed_weight(row_weight, wx[q], q);
    }
    const float middle[2] = {wy[kSize / 2], wy[kSize / 2 + 1]};
    correct(tap, sum, wx, middle);
  }

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate(const Transform& transform, const Source<T>& source, int64_t n,
                                 int y, int x) {
    Tap<T> tap = locate_uncorrected<T>(transform, source, n, y, x);
    if constexpr (std::is_same_v<T, uint8_t>) correct(tap);
    return tap;
  }

  template <class T, class Transform>
  ORBBEC_HD static Tap<T> locate_uncorrected(const Transform& transform, const Source<T>&,
                                             int64_t n, int y, int x) {
    const FixedPoint at = transform.fixed(n, y, x);
    constexpr int kBefore = kSize / 2 - 1;
    return {.x = at.x - kBefore,
            .y = at.y - kBefore,
            .fraction_x = at.fraction_x,
            .fraction_y = at.fraction_y,
            .corrected = 0,
            .correction = 0,
            .valid = true};
  }

  template <class T>
  ORBBEC_HD static T read(const Source<T>& source, const Tap<T>& tap, int64_t c, T outside) {
    if (returns_outside(tap, source.image, source.border)) return outside;
    const Source<T> inner{source.image, tap_border(source.border), source.fill};
    return weighted_sum(inner, tap, c, outside);
  }

  template <class T>
  ORBBEC_HD static bool returns_outside(const Tap<T>& tap, const Image<const T>& image,
                                        Border border) {
    constexpr int kBefore = kSize / 2 - 1;
    return border == Border::kTransparent && !image.contains(tap.y + kBefore, tap.x + kBefore);
  }

  // OpenCV reads beyond a transparent border by reflection.
  ORBBEC_HD static Border tap_border(Border border) {
    return border == Border::kTransparent ? Border::kReflect101 : border;
  }

  // A sum of bytes in units of 2^-15, kWeightRound included.
  ORBBEC_HD static uint8_t rounded(int sum) {
    return static_cast<uint8_t>(clamp_int(sum >> 15, 0, 255));
  }

  template <class T>
  ORBBEC_HD static T weighted_sum(const Source<T>& source, const Tap<T>& tap, int64_t c,
                                  T outside) {
    float wx[kSize], wy[kSize];
    Kernel::weights(tap.fraction_x, wx);
    Kernel::weights(tap.fraction_y, wy);
    if constexpr (std::is_same_v<T, uint8_t>) {
      for (float& weight : wx) weight = scaled_weight(weight);
      int sum = kWeightRound;
      ORBBEC_ROLLED
      for (int r = 0; r < kSize; ++r) {
        const float row_weight = element(wy, r);
        for (int q = 0; q < kSize; ++q) {
          const int extra = r * kSize + q == tap.corrected ? tap.correction : 0;
          sum += source.tap(tap.x + q, tap.y + r, c, outside) *
                 (fixed_weight(row_weight, wx[q], q) + extra);
        }
      }
      return rounded(sum);
    } else {
      return float_sum(source, tap, wx, wy, c, outside);
    }
  }

  // Inside the image, row by row. At a border, the border value first, then the differences of the
  // pixels from it.
  template <class T>
  ORBBEC_HD static T float_sum(const Source<T>& source, const Tap<T>& tap, const float (&wx)[kSize],
                               const float (&wy)[kSize], int64_t c, T outside) {
    using F = Compute<T>;
    const Image<const T>& image = source.image;
    const bool inside =
        image.contains(tap.y, tap.x) && image.contains(tap.y + kSize - 1, tap.x + kSize - 1);
    const bool by_value = outside_is_value(source.border);
    const F base = load(source.fill);
    F sum = inside ? F(0) : base;
    ORBBEC_ROLLED
    for (int r = 0; r < kSize; ++r) {
      const float row_weight = element(wy, r);
      F row = F(0);
      for (int q = 0; q < kSize; ++q) {
        const F weight = row_weight * wx[q];
        if (inside) {
          const F term = load(image.at(tap.y + r, tap.x + q, c)) * weight;
          row = q == 0 ? term : row + term;
        } else if (!by_value || image.contains(tap.y + r, tap.x + q)) {
          sum = sum + (load(source.tap(tap.x + q, tap.y + r, c, outside)) - base) * weight;
        }
      }
      if (inside) sum = r == 0 ? row : sum + row;
    }
    return store<T>(sum);
  }
};

}  // namespace orbbec
