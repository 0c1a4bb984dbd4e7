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
  const double* drawn = nullptr;  // [N]: 0 where the output is not written; null: nowhere

  ORBBEC_HD bool skips(int64_t n) const { return drawn != nullptr && drawn[n] == 0; }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const uint8_t> from = source[n];
    const Image<uint8_t> to = output[n];
    for (int64_t c = 0; c < output.channels; ++c) {
      to.at(y, x, c) = luts[n * stride_n + c * stride_c + from.at(y, x, c)];
    }
  }

  // For executors/cuda/pointwise.h.
  static constexpr int kSources = 1, kIn = 0, kOut = 0;
  static constexpr bool kSameForChannels = false;
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
  ORBBEC_HD bool is_ordinary(int64_t n) const { return is_readable(source[n], output[n]); }
};

// Adds the histogram of each channel of each image to `counts`.
struct HistogramArguments {
  Images<const uint8_t> source;
  int64_t* counts;                // [N, C, 256]
  const double* drawn = nullptr;  // [N]: 0 where nothing is added; null: nowhere

  ORBBEC_HD bool skips(int64_t n) const { return drawn != nullptr && drawn[n] == 0; }
};

enum class LutKind { kGamma, kAutocontrast, kEqualize, kEqualizeHist };

// What a LUT needs to know of its histogram.
struct Levels {
  int64_t total = 0, of_darkest = 0, of_brightest = 0;  // pixels
  int darkest = kLevels - 1, brightest = 0;             // with pixels

  ORBBEC_HD void add(int level, int64_t pixels) {
    total += pixels;
    if (pixels == 0) return;
    if (level <= darkest) darkest = level, of_darkest = pixels;
    if (level >= brightest) brightest = level, of_brightest = pixels;
  }
  ORBBEC_HD void add(const Levels& other) {
    total += other.total;
    if (other.of_darkest > 0 && other.darkest <= darkest) {
      darkest = other.darkest, of_darkest = other.of_darkest;
    }
    if (other.of_brightest > 0 && other.brightest >= brightest) {
      brightest = other.brightest, of_brightest = other.of_brightest;
    }
  }
};

// The value of a LUT at `level`: `before` pixels are darker, `level_count` have this level.
struct LutRule {
  LutKind kind;
  Levels levels;
  int64_t step = 0;  // equalize
  float scale = 1;
  bool is_identity;

  ORBBEC_HD LutRule(LutKind kind, const Levels& levels) : kind(kind), levels(levels) {
    if (kind == LutKind::kAutocontrast) {
      is_identity = levels.darkest >= levels.brightest;
      scale = static_cast<float>(levels.brightest - levels.darkest) * (1.0f / 255.0f);
    } else if (kind == LutKind::kEqualize) {
      step = (levels.total - levels.of_brightest) / 255;
      is_identity = step == 0;
    } else {
      is_identity = levels.of_darkest == levels.total;
      scale = 255.0f / static_cast<float>(levels.total - levels.of_darkest);
    }
  }

  ORBBEC_HD uint8_t operator()(int level, int64_t before, int64_t level_count) const {
    if (is_identity) return static_cast<uint8_t>(level);
    if (kind == LutKind::kAutocontrast) return stretched(level);
    return kind == LutKind::kEqualize ? equalized(before)
                                      : equalized_hist(level, before + level_count);
  }

 private:
  // Maps the darkest level to 0 and the brightest to 255, with torchvision's arithmetic.
  ORBBEC_HD uint8_t stretched(int level) const {
    const float value = static_cast<float>(level - levels.darkest) / scale;
    return static_cast<uint8_t>(clamp_int(static_cast<int>(value), 0, 255));
  }

  // Pillow's and torchvision's equalization: integer steps of all pixels except those of the
  // brightest level.
  ORBBEC_HD uint8_t equalized(int64_t before) const {
    const int64_t level = (step / 2 + before) / step;
    return static_cast<uint8_t>(level < 255 ? level : 255);
  }

  // OpenCV's equalization: the rounded cumulative fraction of all pixels except those of the
  // darkest level.
  ORBBEC_HD uint8_t equalized_hist(int level, int64_t up_to) const {
    const int64_t sum = level > levels.darkest ? up_to - levels.of_darkest : 0;
    return store<uint8_t>(static_cast<float>(sum) * scale);
  }
};

// The value of a LUT of adjust_gamma.
ORBBEC_HD uint8_t gamma_level(int level, double exponent, double factor) {
  const float value = static_cast<float>(level) * (1.0f / 255.0f);
  float raised = static_cast<float>(power(static_cast<double>(value), exponent));
  if (factor != 1) raised = raised * static_cast<float>(factor);
  raised = raised >= 0 ? smaller(raised, 1.0f) : 0.0f;  // also for NaN
  // Slightly below 256, so that rounding errors of a float near 1 have no effect.
  return static_cast<uint8_t>(clamp_int(static_cast<int>(raised * 255.999f), 0, 255));
}

// Makes the LUTs of `count` images of `channels`. An item is a LUT.
struct MakeLut {
  LutKind kind;
  const int64_t* counts;  // [N, C, 256]; null for gamma
  PerImage factor, gain;
  uint8_t* luts;  // [N, C, 256]
  int channels;

  ORBBEC_HD void operator()(int64_t n, int c) const {
    uint8_t* const lut = luts + (n * channels + c) * kLevels;
    if (kind == LutKind::kGamma) {
      const double exponent = factor.of(n), times = gain.of(n);
      for (int v = 0; v < kLevels; ++v) lut[v] = gamma_level(v, exponent, times);
      return;
    }
    const int64_t* const histogram = counts + (n * channels + c) * kLevels;
    Levels levels;
    for (int v = 0; v < kLevels; ++v) levels.add(v, histogram[v]);
    const LutRule rule(kind, levels);
    int64_t before = 0;
    for (int v = 0; v < kLevels; before += histogram[v++]) lut[v] = rule(v, before, histogram[v]);
  }
};

}  // namespace orbbec
