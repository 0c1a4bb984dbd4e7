// clahe: OpenCV's contrast-limited equalization. The histograms of tiles are clipped, and their
// lookup tables are blended between tile centers. Included by clahe_cpu.cpp, clahe_cuda.cu and
// binding_clahe.cpp.
#pragma once

#include "tables.h"

namespace orbbec {

struct ClaheArguments {
  AnyImages source, output;
  int tiles_y, tiles_x;
  PerImage clip_limit;
  int* counts;    // [N, C, tiles_y * tiles_x, 256]
  uint8_t* luts;  // like `counts`
};

// The tiles of an image. Where they do not divide it, it is extended by reflection at the bottom
// and right; if only one side needs it, the other is extended too, by one pixel per tile.
struct Tiles {
  int height, width;  // of a tile

  ORBBEC_HD Tiles(const Image<const uint8_t>& image, int tiles_y, int tiles_x) {
    const int over_y = image.height % tiles_y, over_x = image.width % tiles_x;
    const bool even = over_y == 0 && over_x == 0;
    height = image.height / tiles_y + (even ? 0 : 1);
    width = image.width / tiles_x + (even ? 0 : 1);
  }
};

// An item is a tile of a channel: its histogram and lookup table.
struct ClaheLuts {
  Images<const uint8_t> source;
  int tiles_y, tiles_x;
  PerImage clip_limit;
  int* counts;
  uint8_t* luts;

  explicit ClaheLuts(const ClaheArguments& a)
      : source(a.source),
        tiles_y(a.tiles_y),
        tiles_x(a.tiles_x),
        clip_limit(a.clip_limit),
        counts(a.counts),
        luts(a.luts) {}

  // `job` counts the channels of all images.
  ORBBEC_HD void operator()(int64_t job, int tile) const {
    const int64_t n = job / source.channels, c = job % source.channels;
    const Image<const uint8_t> image = source[n];
    if (image.height < 1 || image.width < 1) return;
    const Tiles size(image, tiles_y, tiles_x);
    int* const histogram = counts + (job * tiles_y * tiles_x + tile) * kLevels;
    for (int v = 0; v < kLevels; ++v) histogram[v] = 0;
    const int top = tile / tiles_x * size.height, left = tile % tiles_x * size.width;
    for (int y = top; y < top + size.height; ++y) {
      const int from_y = reflected(y, image.height);
      for (int x = left; x < left + size.width; ++x) {
        ++histogram[image.at(from_y, reflected(x, image.width), c)];
      }
    }
    const int area = size.height * size.width;
    clip(histogram, area, clip_limit.of(n));
    write_lut(histogram, area, luts + (job * tiles_y * tiles_x + tile) * kLevels);
  }

  ORBBEC_HD static int reflected(int p, int size) {
    if (p < size) return p;
    const int period = size == 1 ? 1 : 2 * size - 2, q = p % period;
    return q < size ? q : period - q;
  }

  // Spreads the excess over the limit evenly; the remainder goes to evenly spaced levels.
  ORBBEC_HD static void clip(int* histogram, int area, double limit) {
    if (!(limit > 0)) return;
    const double wanted = limit * area / kLevels;
    const int most = wanted < 1 ? 1 : wanted < 2147483647.0 ? static_cast<int>(wanted) : 2147483647;
    int excess = 0;
    for (int v = 0; v < kLevels; ++v) {
      if (histogram[v] <= most) continue;
      excess += histogram[v] - most;
      histogram[v] = most;
    }
    const int each = excess / kLevels;
    int rest = excess - each * kLevels;
    for (int v = 0; v < kLevels; ++v) histogram[v] += each;
    const int step = rest == 0 ? kLevels : kLevels / rest > 1 ? kLevels / rest : 1;
    for (int v = 0; v < kLevels && rest > 0; v += step, --rest) ++histogram[v];
  }

  ORBBEC_HD static void write_lut(const int* histogram, int area, uint8_t* lut) {
    const float scale = 255.0f / static_cast<float>(area);
    int sum = 0;
    for (int v = 0; v < kLevels; ++v) {
      sum += histogram[v];
      lut[v] = store<uint8_t>(static_cast<float>(sum) * scale);
    }
  }
};

// Blends the lookup tables of the four tiles around a pixel.
struct ClaheBlend {
  Images<const uint8_t> source;
  Images<uint8_t> output;
  int tiles_y, tiles_x;
  const uint8_t* luts;

  explicit ClaheBlend(const ClaheArguments& a)
      : source(a.source), output(a.output), tiles_y(a.tiles_y), tiles_x(a.tiles_x), luts(a.luts) {}

  struct Between {
    int before, after;
    float weight;  // of `after`
  };
  ORBBEC_HD static Between between(int p, int tile, int tiles) {
    const float at = static_cast<float>(p) * (1.0f / static_cast<float>(tile)) - 0.5f;
    const int before = static_cast<int>(floorf(at));
    return {before < 0 ? 0 : before, before + 1 < tiles ? before + 1 : tiles - 1,
            at - static_cast<float>(before)};
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const { write(n, y, x, x + 1); }

  // Columns [first, end) of row y.
  ORBBEC_HD void write(int64_t n, int y, int first, int end) const {
    const Image<const uint8_t> from = source[n];
    const Image<uint8_t> to = output[n];
    const Tiles size(from, tiles_y, tiles_x);
    const Between rows = between(y, size.height, tiles_y);
    const float top = 1.0f - rows.weight;
    const int64_t of_image = n * output.channels * tiles_y;
    for (int64_t c = 0; c < output.channels; ++c) {
      const uint8_t* const of_channel = luts + (of_image + c * tiles_y) * tiles_x * kLevels;
      const uint8_t* const upper = of_channel + rows.before * tiles_x * kLevels;
      const uint8_t* const lower = of_channel + rows.after * tiles_x * kLevels;
      for (int x = first; x < end; ++x) {
        const Between columns = between(x, size.width, tiles_x);
        const int level = from.at(y, x, c);
        const int before = columns.before * kLevels + level,
                  after = columns.after * kLevels + level;
        const float above = blend(upper[before], upper[after], columns.weight);
        const float below = blend(lower[before], lower[after], columns.weight);
        to.at(y, x, c) = store<uint8_t>(above * top + below * rows.weight);
      }
    }
  }

 private:
  ORBBEC_HD static float blend(uint8_t before, uint8_t after, float weight) {
    return static_cast<float>(before) * (1.0f - weight) + static_cast<float>(after) * weight;
  }
};

}  // namespace orbbec
