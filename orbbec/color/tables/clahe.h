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
  uint8_t* luts;  // [N, C, tiles_y * tiles_x, 256]
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

// The lookup tables of all tiles.
struct ClaheLuts {
  Images<const uint8_t> source;
  int tiles_y, tiles_x;
  PerImage clip_limit;
  uint8_t* luts;

  explicit ClaheLuts(const ClaheArguments& a)
      : source(a.source),
        tiles_y(a.tiles_y),
        tiles_x(a.tiles_x),
        clip_limit(a.clip_limit),
        luts(a.luts) {}

  ORBBEC_HD static int reflected(int p, int size) {
    if (p < size) return p;
    const int period = size == 1 ? 1 : 2 * size - 2, q = p % period;
    return q < size ? q : period - q;
  }

  // The most pixels of a level; 0: no limit.
  ORBBEC_HD static int most_of(int area, double limit) {
    if (!(limit > 0)) return 0;
    const double wanted = limit * area / kLevels;
    return wanted < 1 ? 1 : wanted < 2147483647.0 ? static_cast<int>(wanted) : 2147483647;
  }

  // Pixels over the limit are spread evenly; the remainder goes to evenly spaced levels.
  struct Excess {
    int each, rest, step;

    ORBBEC_HD explicit Excess(int pixels) : each(pixels / kLevels), rest(pixels % kLevels) {
      step = rest == 0 ? kLevels : kLevels / rest > 1 ? kLevels / rest : 1;
    }
  };

  ORBBEC_HD static void clip(int* histogram, int most) {
    if (most == 0) return;
    int pixels = 0;
    for (int v = 0; v < kLevels; ++v) {
      if (histogram[v] <= most) continue;
      pixels += histogram[v] - most;
      histogram[v] = most;
    }
    const Excess excess(pixels);
    for (int v = 0; v < kLevels; ++v) histogram[v] += excess.each;
    int rest = excess.rest;
    for (int v = 0; v < kLevels && rest > 0; v += excess.step, --rest) ++histogram[v];
  }

  ORBBEC_HD static float scale_of(int area) { return 255.0f / static_cast<float>(area); }
  ORBBEC_HD static float level_of(int sum, float scale) { return static_cast<float>(sum) * scale; }

  ORBBEC_HD static void write_lut(const int* histogram, int area, uint8_t* lut) {
    const float scale = scale_of(area);
    int sum = 0;
    for (int v = 0; v < kLevels; ++v) {
      sum += histogram[v];
      lut[v] = store<uint8_t>(level_of(sum, scale));
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
    int cell;      // tile centers up to here, without the clamping of `before`
  };
  ORBBEC_HD static Between between(int p, int tile, int tiles) {
    const float at = static_cast<float>(p) * (1.0f / static_cast<float>(tile)) - 0.5f;
    const int before = static_cast<int>(floorf(at));
    return {before < 0 ? 0 : before, before + 1 < tiles ? before + 1 : tiles - 1,
            at - static_cast<float>(before), before + 1};
  }

  // Of two tiles.
  template <class Weight = float>
  struct Weights {
    Weight before, after;

    Weights() = default;
    ORBBEC_HD Weights(float weight) : before(1.0f - weight), after(weight) {}
  };

  // Of the upper tiles, then of the lower ones. A corner times a weight is a float.
  template <class Corner, class Weight>
  ORBBEC_HD static float blended(const Corner (&corners)[4], const Weights<Weight>& across,
                                 const Weights<>& down) {
    const float above = corners[0] * across.before + corners[1] * across.after;
    const float below = corners[2] * across.before + corners[3] * across.after;
    return above * down.before + below * down.after;
  }
};

}  // namespace orbbec
