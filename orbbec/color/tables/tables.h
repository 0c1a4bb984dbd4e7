// Histograms, lookup tables of 256 bytes made from a histogram or a gamma, and their application.
// Included by tables_cpu.cpp, tables_cuda.cu and binding_tables.cpp.
#pragma once

#include "../../core/power.h"
#include "../pointwise.h"

namespace orbbec {

constexpr int kLevels = 256;

// out = lut[pixel], with one LUT for all images, per channel or per image.
struct ApplyLut {
  using In = uint8_t;
  using Out = uint8_t;

  Images<const uint8_t> source;
  Images<uint8_t> output;
  const uint8_t* luts;  // [.., .., 256]
  int64_t stride_n, stride_c;

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const uint8_t> from = source[n];
    const Image<uint8_t> to = output[n];
    for (int64_t c = 0; c < output.channels; ++c) {
      to.at(y, x, c) = luts[n * stride_n + c * stride_c + from.at(y, x, c)];
    }
  }

  // For executors/pointwise_cuda.h.
  static constexpr int kSources = 1, kIn = 0, kOut = 0;
  struct OfImage {
    const uint8_t* luts;
    int64_t stride_c;
    template <int kChannels>
    ORBBEC_HD void operator()(const int (&pixel)[1][kChannels],
                              uint8_t (&result)[kChannels]) const {
      for (int c = 0; c < kChannels; ++c) result[c] = luts[c * stride_c + pixel[0][c]];
    }
  };
  ORBBEC_HD Image<const uint8_t> source_of(int64_t n, int) const { return source[n]; }
  ORBBEC_HD OfImage of_image(int64_t n) const { return {luts + n * stride_n, stride_c}; }
  ORBBEC_HD bool is_plain(int64_t n) const { return is_readable(source[n], output[n]); }
};

// Adds the histogram of each channel of each image to `counts`.
struct HistogramArguments {
  Images<const uint8_t> source;
  int64_t* counts;  // [N, C, 256]
};

enum class LutKind { kGamma, kAutocontrast, kEqualize, kEqualizeHist };

// Makes the LUTs of `count` images of `channels`. An item is a LUT.
struct MakeLut {
  LutKind kind;
  const int64_t* counts;  // [N, C, 256]; null for gamma
  PerImage factor, gain;
  uint8_t* luts;  // [N, C, 256]
  int channels;

  ORBBEC_HD void operator()(int64_t n, int c) const {
    uint8_t* const lut = luts + (n * channels + c) * kLevels;
    if (kind == LutKind::kGamma) return gamma(lut, factor.of(n), gain.of(n));
    const int64_t* const histogram = counts + (n * channels + c) * kLevels;
    if (kind == LutKind::kAutocontrast) return autocontrast(lut, histogram);
    if (kind == LutKind::kEqualize) return equalize(lut, histogram);
    equalize_hist(lut, histogram);
  }

  ORBBEC_HD static void gamma(uint8_t* lut, double exponent, double factor) {
    for (int v = 0; v < kLevels; ++v) {
      const float value = static_cast<float>(v) * (1.0f / 255.0f);
      float raised = static_cast<float>(power(static_cast<double>(value), exponent));
      if (factor != 1) raised = raised * static_cast<float>(factor);
      raised = raised >= 0 ? smaller(raised, 1.0f) : 0.0f;  // also for NaN
      // Slightly below 256, so that rounding errors of a float near 1 have no effect.
      lut[v] = static_cast<uint8_t>(clamp_int(static_cast<int>(raised * 255.999f), 0, 255));
    }
  }

  ORBBEC_HD static void keep(uint8_t* lut) {
    for (int v = 0; v < kLevels; ++v) lut[v] = static_cast<uint8_t>(v);
  }

  // Maps the darkest level to 0 and the brightest to 255, with torchvision's arithmetic.
  ORBBEC_HD static void autocontrast(uint8_t* lut, const int64_t* histogram) {
    int low = 0, high = kLevels - 1;
    while (low < kLevels - 1 && histogram[low] == 0) ++low;
    while (high > 0 && histogram[high] == 0) --high;
    if (low >= high) return keep(lut);
    const float scale = static_cast<float>(high - low) * (1.0f / 255.0f);
    for (int v = 0; v < kLevels; ++v) {
      const float stretched = static_cast<float>(v - low) / scale;
      lut[v] = static_cast<uint8_t>(clamp_int(static_cast<int>(stretched), 0, 255));
    }
  }

  // Pillow's and torchvision's equalization: integer steps of all pixels except those of the
  // brightest level.
  ORBBEC_HD static void equalize(uint8_t* lut, const int64_t* histogram) {
    int64_t total = 0;
    int brightest = 0;
    for (int v = 0; v < kLevels; ++v) {
      total += histogram[v];
      if (histogram[v] > 0) brightest = v;
    }
    const int64_t step = (total - histogram[brightest]) / 255;
    if (step == 0) return keep(lut);
    int64_t sum = step / 2;
    for (int v = 0; v < kLevels; ++v) {
      const int64_t level = sum / step;
      lut[v] = static_cast<uint8_t>(level < 255 ? level : 255);
      sum += histogram[v];
    }
  }

  // OpenCV's equalization: the rounded cumulative fraction of all pixels except those of the
  // darkest level.
  ORBBEC_HD static void equalize_hist(uint8_t* lut, const int64_t* histogram) {
    int64_t total = 0;
    for (int v = 0; v < kLevels; ++v) total += histogram[v];
    int darkest = 0;
    while (darkest < kLevels - 1 && histogram[darkest] == 0) ++darkest;
    if (histogram[darkest] == total) return keep(lut);
    const float scale = 255.0f / static_cast<float>(total - histogram[darkest]);
    int64_t sum = 0;
    for (int v = 0; v < kLevels; ++v) {
      if (v > darkest) sum += histogram[v];
      lut[v] = store<uint8_t>(static_cast<float>(sum) * scale);
    }
  }
};

}  // namespace orbbec
