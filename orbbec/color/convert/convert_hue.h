// RGB to and from HSV and HLS. Included by convert.h.
#pragma once

#include "../../core/hue.h"
#include "../pointwise.h"

namespace orbbec {

// Hue in degrees, from 0 to 360, before negative values are wrapped.
template <class V>
ORBBEC_HD V hue_degrees(const V (&rgb)[3], V highest, V per_range) {
  const V of_red = (rgb[1] - rgb[2]) * per_range;
  const V of_green = fused_multiply_add(rgb[2] - rgb[0], per_range, V(120));
  const V of_blue = fused_multiply_add(rgb[0] - rgb[1], per_range, V(240));
  const V hue = choose(highest == rgb[0], of_red, choose(highest == rgb[1], of_green, of_blue));
  return choose(hue < 0, hue + V(360), hue);
}

struct RgbToHsv {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  ORBBEC_HD RgbToHsv of(int64_t) const { return {}; }

  // OpenCV's tables, in units of 1/4096: what saturation and hue are multiplied by.
  template <class Number>
  struct Factors {
    Number per_value, per_range;
  };

  // For executors/cuda/pointwise.h. Entry 0 is multiplied by 0.
  struct Table {
    static constexpr int kEntries = 256;
    int per_value[kEntries], per_range[kEntries];

    ORBBEC_HD void set(int i) {
      const float divisor = static_cast<float>(larger(i, 1));
      const Factors<float> factors = rounded_factors(reciprocal(divisor), 1, 1);
      per_value[i] = static_cast<int>(factors.per_value);
      per_range[i] = static_cast<int>(factors.per_range);
    }
    ORBBEC_HD Factors<int> operator()(int v, int range) const {
      return {per_value[v], per_range[range]};
    }
  };

  // One reciprocal, of the product of both divisors, yields each of the tables' entries.
  struct Computed {
    ORBBEC_HD Factors<float> operator()(int v, int range) const {
      const float by_value = v + kTiny, by_range = range + kTiny;
      return rounded_factors(reciprocal(by_value * by_range), by_range, by_value);
    }
  };

  // Hue in half degrees.
  template <class FactorsOf>
  ORBBEC_HD static void convert(const int (&rgb)[3], int (&hsv)[3], const FactorsOf& factors_of) {
#if defined(__CUDA_ARCH__)
    using Int = int;
#else
    using Int = int16_t;  // twice as many in a vector
#endif
    const Int r = rgb[0], g = rgb[1], b = rgb[2];
    const Int v = larger(r, larger(g, b)), range = v - smaller(r, smaller(g, b));
    const Int of_red = g - b, of_green = b - r + 2 * range, of_blue = r - g + 4 * range;
    const Int shifted = choose(v == r, of_red, choose(v == g, of_green, of_blue));
    const auto factors = factors_of(v, range);
    const Int hue = rounded_4096ths(shifted, factors.per_range);
    hsv[0] = hue < 0 ? hue + 180 : hue;
    hsv[1] = rounded_4096ths(range, factors.per_value);
    hsv[2] = v;
  }
  ORBBEC_HD void operator()(const int (&rgb)[3], int (&hsv)[3], InVector<true>) const {
    convert(rgb, hsv, Computed{});
  }
  ORBBEC_HD void operator()(const int (&rgb)[3], int (&hsv)[3], const Table& table) const {
    convert(rgb, hsv, table);
  }

  // 1 / x with an error below 2^-22: three Newton steps from a guess that negates the exponent.
  ORBBEC_HD static float reciprocal(float x) {
    const float guess = float_of(0x7ef311c7u - bits_of(x));
    return nearer(x, nearer(x, nearer(x, guess)));
  }
  ORBBEC_HD static float nearer(float x, float guess) {
    return fmaf(guess, fmaf(-x, guess, 1.0f), guess);
  }

  static constexpr float kTiny = 0x1p-30f;  // changes only 0, whose factors are multiplied by 0

  ORBBEC_HD static Factors<float> rounded_factors(float inverse, float to_value, float to_range) {
    return {rounded_quotient(inverse * to_value, 1044480.0f),
            rounded_quotient(inverse * to_range, 122880.0f)};
  }

  // Adding 2^23 rounds a smaller number to an integer.
  ORBBEC_HD static float rounded_quotient(float inverse, float dividend) {
    return fmaf(inverse, dividend, 8388608.0f) - 8388608.0f;
  }

  // Sums stay below 2^22, which floats hold exactly.
  ORBBEC_HD static int rounded_4096ths(int count, float per_count) {
    return static_cast<int>(fmaf(static_cast<float>(count), per_count, 2048.0f)) >> 12;
  }
  ORBBEC_HD static int rounded_4096ths(int count, int per_count) {
    return (count * per_count + 2048) >> 12;
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&rgb)[3], V (&hsv)[3], InVector<true>) const {
    constexpr V kEpsilon = V(1.1920928955078125e-07);
    const V v = larger(rgb[0], larger(rgb[1], rgb[2]));
    const V range = v - smaller(rgb[0], smaller(rgb[1], rgb[2]));
    hsv[0] = hue_degrees(rgb, v, V(60) / (range + kEpsilon));
    hsv[1] = range / ((v < 0 ? -v : v) + kEpsilon);
    hsv[2] = v;
  }
};

struct HsvToRgb {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = true;
  ORBBEC_HD HsvToRgb of(int64_t) const { return {}; }

  // `h` counts sectors of 60 degrees and is not negative.
  template <class V>
  ORBBEC_HD static void from_sectors(V h, V s, V v, V (&rgb)[3]) {
    const V whole = static_cast<V>(static_cast<int>(h));
    const V fraction = h - whole;
    const V falling = v * fused_multiply_add(-s, fraction, V(1));
    const V rising = v * fused_multiply_add(-s, V(1) - fraction, V(1));
    const int sector = static_cast<int>(whole) - 6 * static_cast<int>(whole * V(1.0f / 6.0f));
    sector_colors(sector, v, v * (V(1) - s), falling, rising, rgb);
  }

  // OpenCV's vectors truncate; the tail of a row is rounded.
  template <bool kInVector>
  ORBBEC_HD void operator()(const int (&hsv)[3], int (&rgb)[3], InVector<kInVector>) const {
    constexpr float kPerByte = 1.0f / 255.0f;
    float colors[3];
    from_sectors(static_cast<float>(hsv[0]) * (6.0f / 180), static_cast<float>(hsv[1]) * kPerByte,
                 static_cast<float>(hsv[2]) * kPerByte, colors);
    for (int c = 0; c < 3; ++c) {
      const float scaled = colors[c] * 255.0f;
      rgb[c] = to_byte(static_cast<int>(kInVector ? scaled : rintf(scaled)));
    }
  }

  template <class V, bool kInVector>
  ORBBEC_HD void operator()(const V (&hsv)[3], V (&rgb)[3], InVector<kInVector>) const {
    from_sectors(wrapped_sectors(hsv[0]), hsv[1], hsv[2], rgb);
  }

  // Sixths of a circle, in [0, 6). NaN and infinity count as 0.
  template <class V>
  ORBBEC_HD static V wrapped_sectors(V degrees) {
    const V sectors = degrees * V(6.0f / 360.0f);
    const V wrapped = sectors - V(6) * floor_of(sectors / V(6));
    return wrapped >= 0 && wrapped < V(6) ? wrapped : V(0);
  }
  ORBBEC_HD static float floor_of(float value) { return floorf(value); }
  ORBBEC_HD static double floor_of(double value) { return floor(value); }
};

struct RgbToHls {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  ORBBEC_HD RgbToHls of(int64_t) const { return {}; }

  ORBBEC_HD void operator()(const int (&rgb)[3], int (&hls)[3], InVector<true>) const {
    constexpr float kPerByte = 1.0f / 255.0f;
    float colors[3], result[3];
    for (int c = 0; c < 3; ++c) colors[c] = static_cast<float>(rgb[c]) * kPerByte;
    to_hls(colors, result);
    hls[0] = to_byte(round_in_range(result[0] * 0.5f));
    hls[1] = to_byte(round_in_range(result[1] * 255.0f));
    hls[2] = to_byte(round_in_range(result[2] * 255.0f));
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&rgb)[3], V (&hls)[3], InVector<true>) const {
    to_hls(rgb, hls);
  }

  template <class V>
  ORBBEC_HD static void to_hls(const V (&rgb)[3], V (&hls)[3]) {
    constexpr V kEpsilon = V(1.1920928955078125e-07);
    const V high = larger(rgb[0], larger(rgb[1], rgb[2]));
    const V low = smaller(rgb[0], smaller(rgb[1], rgb[2]));
    const V range = high - low, sum = high + low, l = sum * V(0.5);
    const bool gray = !(range > kEpsilon);
    const V divisor = choose(l < V(0.5), sum, V(2) - sum);
    const V hue = hue_degrees(rgb, high, V(60) / choose(gray, V(1), range));
    const V saturation = range / choose(gray, V(1), divisor);
    hls[0] = choose(gray, V(0), hue);
    hls[1] = l;
    hls[2] = choose(gray, V(0), saturation);
  }
};

struct HlsToRgb {
  static constexpr int kIn = 3, kOut = 3;
  static constexpr bool kKnowsVectors = false;
  ORBBEC_HD HlsToRgb of(int64_t) const { return {}; }

  ORBBEC_HD void operator()(const int (&hls)[3], int (&rgb)[3], InVector<true>) const {
    constexpr float kPerByte = 1.0f / 255.0f;
    float colors[3];
    from_sectors(static_cast<float>(hls[0]) * (6.0f / 180), static_cast<float>(hls[1]) * kPerByte,
                 static_cast<float>(hls[2]) * kPerByte, colors);
    for (int c = 0; c < 3; ++c) rgb[c] = to_byte(round_in_range(colors[c] * 255.0f));
  }

  template <class V>
  ORBBEC_HD void operator()(const V (&hls)[3], V (&rgb)[3], InVector<true>) const {
    from_sectors(HsvToRgb::wrapped_sectors(hls[0]), hls[1], hls[2], rgb);
  }

  template <class V>
  ORBBEC_HD static void from_sectors(V h, V l, V s, V (&rgb)[3]) {
    const V whole = static_cast<V>(static_cast<int>(h));
    const V fraction = h - whole;
    const V high = choose(l <= V(0.5), l * (V(1) + s), l + s - l * s);
    const V low = V(2) * l - high;
    const V falling = low + (high - low) * (V(1) - fraction);
    const V rising = low + (high - low) * fraction;
    const int sector = static_cast<int>(whole) - 6 * static_cast<int>(whole * V(1.0f / 6.0f));
    sector_colors(sector, high, low, falling, rising, rgb);
  }
};

}  // namespace orbbec
