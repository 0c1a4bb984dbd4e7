// cvt_color: OpenCV's conversions to and from RGB. uint8 is computed in int with OpenCV's integer
// and table arithmetic; other types with its float formulas: S, V and L from 0 to 1, H in degrees.
// Source: OpenCV's documentation of cvtColor, and experiments. Included by convert_cpu.cpp and
// convert_cuda.cu.
#pragma once

#include "../pointwise.h"
#include "convert_hue.h"
#include "convert_lab.h"

namespace orbbec {

enum class Conversion {
  kCopy,
  kRgbToGray,
  kGrayToRgb,
  kRgbToHsv,
  kHsvToRgb,
  kRgbToHls,
  kHlsToRgb,
  kRgbToYCrCb,
  kYCrCbToRgb,
  kRgbToYuv,
  kYuvToRgb,
  kRgbToLab,
  kLabToRgb,
};

struct ConvertArguments : PointwiseArguments {
  Conversion conversion;
  const int32_t* luts;  // of LAB
};

struct CopyColors : ColorRule<CopyColors, 3, 3> {
  static constexpr bool kCopies = true;
  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&out)[3], InVector<true>) const {
    for (int c = 0; c < 3; ++c) out[c] = in[c];
  }
};

struct GrayToRgb : ColorRule<GrayToRgb, 1, 3> {
  template <class V>
  ORBBEC_HD void operator()(const V (&in)[1], V (&out)[3], InVector<true>) const {
    for (int c = 0; c < 3; ++c) out[c] = in[0];
  }
};

struct RgbToGray : ColorRule<RgbToGray, 3, 1> {
  template <class V>
  ORBBEC_HD void operator()(const V (&rgb)[3], V (&gray)[1], InVector<true>) const {
    if constexpr (std::is_same_v<V, int>) {
      gray[0] = (9798 * rgb[0] + 19235 * rgb[1] + 3735 * rgb[2] + 16384) >> 15;
    } else {
      gray[0] = rgb[0] * V(0.299f) + rgb[1] * V(0.587f) + rgb[2] * V(0.114f);
    }
  }
};

// The weights of red - luma and blue - luma, as 14-bit fixed point and as floats.
struct YCrCb {
  static constexpr int kRed = 11682, kBlue = 9241, kRedAt = 1, kBlueAt = 2;
  static constexpr int kBackRed = 22987, kBackGreenRed = -11698, kBackGreenBlue = -5636,
                       kBackBlue = 29049;
  static constexpr float kRedF = 0.713f, kBlueF = 0.564f;
  static constexpr float kBackRedF = 1.403f, kBackGreenRedF = -0.714f, kBackGreenBlueF = -0.344f,
                         kBackBlueF = 1.773f;
};
struct Yuv {
  static constexpr int kRed = 14369, kBlue = 8061, kRedAt = 2, kBlueAt = 1;
  static constexpr int kBackRed = 18678, kBackGreenRed = -9519, kBackGreenBlue = -6472,
                       kBackBlue = 33292;
  static constexpr float kRedF = 0.877f, kBlueF = 0.492f;
  static constexpr float kBackRedF = 1.14f, kBackGreenRedF = -0.581f, kBackGreenBlueF = -0.395f,
                         kBackBlueF = 2.032f;
};

template <class Weights>
struct RgbToLuma : ColorRule<RgbToLuma<Weights>, 3, 3> {
  template <class V>
  ORBBEC_HD void operator()(const V (&rgb)[3], V (&out)[3], InVector<true>) const {
    if constexpr (std::is_same_v<V, int>) {
      constexpr int kHalf = 1 << 13, kMiddle = 128 << 14;
      const int y = (4899 * rgb[0] + 9617 * rgb[1] + 1868 * rgb[2] + kHalf) >> 14;
      out[0] = y;
      out[Weights::kRedAt] = to_byte(((rgb[0] - y) * Weights::kRed + kMiddle + kHalf) >> 14);
      out[Weights::kBlueAt] = to_byte(((rgb[2] - y) * Weights::kBlue + kMiddle + kHalf) >> 14);
    } else {
      const V y = rgb[0] * V(0.299f) + rgb[1] * V(0.587f) + rgb[2] * V(0.114f);
      out[0] = y;
      out[Weights::kRedAt] = (rgb[0] - y) * V(Weights::kRedF) + V(0.5);
      out[Weights::kBlueAt] = (rgb[2] - y) * V(Weights::kBlueF) + V(0.5);
    }
  }
};

template <class Weights>
struct LumaToRgb : ColorRule<LumaToRgb<Weights>, 3, 3> {
  template <class V>
  ORBBEC_HD void operator()(const V (&in)[3], V (&rgb)[3], InVector<true>) const {
    const V y = in[0];
    if constexpr (std::is_same_v<V, int>) {
      constexpr int kHalf = 1 << 13;
      const int red = in[Weights::kRedAt] - 128, blue = in[Weights::kBlueAt] - 128;
      const int green = blue * Weights::kBackGreenBlue + red * Weights::kBackGreenRed;
      rgb[0] = to_byte(y + ((red * Weights::kBackRed + kHalf) >> 14));
      rgb[1] = to_byte(y + ((green + kHalf) >> 14));
      rgb[2] = to_byte(y + ((blue * Weights::kBackBlue + kHalf) >> 14));
    } else {
      const V red = in[Weights::kRedAt] - V(0.5), blue = in[Weights::kBlueAt] - V(0.5);
      rgb[0] = y + red * V(Weights::kBackRedF);
      rgb[1] = y + (blue * V(Weights::kBackGreenBlueF) + red * V(Weights::kBackGreenRedF));
      rgb[2] = y + blue * V(Weights::kBackBlueF);
    }
  }
};

// Calls `launch` with the functor of this conversion for pixels of type T.
template <class T, class Launch>
int dispatch_conversion(const ConvertArguments& a, const Launch& launch) {
  const auto run = [&](const auto& rule) {
    return launch(PixelPointwise<T, std::decay_t<decltype(rule)>>(a, rule));
  };
  switch (a.conversion) {
    case Conversion::kCopy:
      return run(CopyColors{});
    case Conversion::kRgbToGray:
      return run(RgbToGray{});
    case Conversion::kGrayToRgb:
      return run(GrayToRgb{});
    case Conversion::kRgbToHsv:
      return run(RgbToHsv{});
    case Conversion::kHsvToRgb:
      return run(HsvToRgb{});
    case Conversion::kRgbToHls:
      return run(RgbToHls{});
    case Conversion::kHlsToRgb:
      return run(HlsToRgb{});
    case Conversion::kRgbToYCrCb:
      return run(RgbToLuma<YCrCb>{});
    case Conversion::kYCrCbToRgb:
      return run(LumaToRgb<YCrCb>{});
    case Conversion::kRgbToYuv:
      return run(RgbToLuma<Yuv>{});
    case Conversion::kYuvToRgb:
      return run(LumaToRgb<Yuv>{});
    case Conversion::kRgbToLab:
      if constexpr (std::is_same_v<T, uint8_t>) return run(RgbToLab{{}, a.luts});
      break;
    case Conversion::kLabToRgb:
      if constexpr (std::is_same_v<T, uint8_t>) return run(LabToRgb{{}, a.luts});
      break;
  }
  return 0;
}

template <class Launch>
int dispatch_convert(const ConvertArguments& a, const Launch& launch) {
  return dispatch_dtype<uint8_t, Half, BFloat16, float>(
      a.dtype, [&](auto value) { return dispatch_conversion<decltype(value)>(a, launch); });
}

}  // namespace orbbec
