// RGB to and from HSV and HLS. Included by convert.h.
#pragma once

#include "../../core/hsv.h"
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

struct RgbToHsv : ColorRule<RgbToHsv, 3, 3> {
#if defined(__CUDA_ARCH__)
  using Whole = int;
#else
  using Whole = int16_t;  // twice as many in a vector
#endif
  // For executors/cuda/pointwise.h. Entry 0 is multiplied by 0.
  struct Table {
    static constexpr int kEntries = 256;
    int per_value[kEntries], per_range[kEntries];

    ORBBEC_HD void set(int i) {
      const float divisor = static_cast<float>(larger(i, 1));
      const HsvFactors<float> factors = rounded_hsv_factors(quick_reciprocal(divisor), 1, 1);
      per_value[i] = static_cast<int>(factors.per_value);
      per_range[i] = static_cast<int>(factors.per_range);
    }
    ORBBEC_HD HsvFactors<int> operator()(int v, int range) const {
      return {per_value[v], per_range[range]};
    }
  };

  ORBBEC_HD void operator()(const int (&rgb)[3], int (&hsv)[3], InVector<true>) const {
    hsv_of_bytes<Whole>(rgb, hsv, ComputedHsvFactors{});
  }
  ORBBEC_HD void operator()(const int (&rgb)[3], int (&hsv)[3], const Table& table) const {
    hsv_of_bytes<Whole>(rgb, hsv, table);
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

struct HsvToRgb : ColorRule<HsvToRgb, 3, 3> {
  static constexpr bool kKnowsVectors = true;

  // OpenCV's vectors truncate; the tail of a row is rounded.
  template <bool kInVector>
  ORBBEC_HD void operator()(const int (&hsv)[3], int (&rgb)[3], InVector<kInVector>) const {
    float colors[3];
    hsv_bytes_to_rgb(hsv, colors);
    for (int c = 0; c < 3; ++c)
      rgb[c] = to_byte(static_cast<int>(kInVector ? colors[c] : rintf(colors[c])));
  }

  template <class V, bool kInVector>
  ORBBEC_HD void operator()(const V (&hsv)[3], V (&rgb)[3], InVector<kInVector>) const {
    rgb_of_sectors(wrapped_sectors(hsv[0]), hsv[1], hsv[2], rgb);
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

struct RgbToHls : ColorRule<RgbToHls, 3, 3> {
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

struct HlsToRgb : ColorRule<HlsToRgb, 3, 3> {
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
