// cutmix, mosaic and copy_paste by binary masks: each output pixel is a pixel of an image, or the
// fill. A rule says of which image, how many pixels follow contiguously, and how many rows have the
// same runs. Included by gather_cpu.cpp, gather_cuda.cu and binding.cpp.
#pragma once

#include "mix.h"

namespace orbbec {

constexpr int kMaxGatherFills = 4;

enum class Gather { kCutMix, kMosaic, kMosaic9, kCopyPaste };

struct GatherArguments {
  AnyImages source, output;
  Gather gather;
  int64_t element_size;
  const int64_t* pair_indices;     // [N], of a mosaic [N, 4] or [N, 9]
  const int64_t* numbers;          // boxes [N, 4], or centers [N, 2]
  AnyImages masks;                 // uint8, one channel
  const int64_t* regions;          // [N, 4], which are written on the CPU; null: all
  uint64_t fill[kMaxGatherFills];  // the bits of a value, one per channel
};

ORBBEC_HD int clamp_to_int(int64_t value, int64_t low, int64_t high) {
  return static_cast<int>(value < low ? low : value > high ? high : value);
}

// The smaller of `next` and those of `edges` that are beyond `at`.
template <class... Edge>
ORBBEC_HD int next_edge(int at, int next, Edge... edges) {
  ((next = edges > at && edges < next ? static_cast<int>(edges) : next), ...);
  return next;
}

// Pixels [left, right) of rows [top, bottom) come from the paired image, where it has them.
struct CutMixRule {
  Images<const uint8_t> sizes;
  PairIndices pair_indices;
  const int64_t* boxes;

  explicit CutMixRule(const GatherArguments& a)
      : sizes(a.source), pair_indices{a.pair_indices, a.source.count}, boxes(a.numbers) {}

  struct Span {
    int64_t pair_index;
    int left, right;
  };
  ORBBEC_HD Span span(int64_t n, int y) const {
    const int64_t pair_index = pair_indices.at(n);
    if (pair_index == PairIndices::kNone) return {n, 0, 0};
    const Image<const uint8_t> size = sizes[pair_index];
    const int64_t* const box = boxes + 4 * n;
    if (y < box[1] || y >= box[3] || y >= size.height) return {n, 0, 0};
    const int left = clamp_to_int(box[0], 0, size.width);
    return {pair_index, left, clamp_to_int(box[2], left, size.width)};
  }
  ORBBEC_HD SourcePixel source_pixel(int64_t n, int y, int x) const {
    const Span s = span(n, y);
    return {x >= s.left && x < s.right ? s.pair_index : n, y, x};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Span s = span(n, y);
    const int next = x < s.left ? s.left : x < s.right ? s.right : width;
    return next < width && s.left < s.right ? next : width;
  }
  ORBBEC_HD int bottom(int64_t n, int y, int height) const {
    const int64_t pair_index = pair_indices.at(n);
    if (pair_index == PairIndices::kNone) return height;
    const int64_t* const box = boxes + 4 * n;
    return next_edge(y, height, box[1], box[3], int64_t{sizes[pair_index].height});
  }
};

// An image on the canvas of a mosaic: the position of its first pixel, and its size.
struct Tile {
  int64_t image, left, top;
  int width, height;

  ORBBEC_HD int64_t right() const { return left + width; }
  ORBBEC_HD int64_t bottom() const { return top + height; }
  ORBBEC_HD bool contains(int y, int x) const {
    return y >= top && y < bottom() && x >= left && x < right();
  }
};

struct MosaicTables {
  Images<const uint8_t> sizes;
  PairIndices pair_indices;
  const int64_t* centers;

  // An image whose first pixel is the center of output n; without an image, its sides are 0.
  ORBBEC_HD Tile at_center(int64_t n, int64_t pair) const {
    // Output sides are int: a center farther outside is equivalent to one this far.
    const int64_t far = int64_t{1} << 31, image = pair_indices.at(pair);
    Tile tile{.image = image,
              .left = bounded(centers[2 * n], far),
              .top = bounded(centers[2 * n + 1], far),
              .width = 0,
              .height = 0};
    if (image != PairIndices::kNone) {
      tile.width = sizes[image].width;
      tile.height = sizes[image].height;
    }
    return tile;
  }

 private:
  ORBBEC_HD static int64_t bounded(int64_t value, int64_t far) {
    return value < -far ? -far : value > far ? far : value;
  }
};

// Four images around a center: their corner pixels meet there.
struct FourTiles : MosaicTables {
  static constexpr int kCount = 4;

  ORBBEC_HD Tile tile(int64_t n, int i) const {
    Tile tile = at_center(n, kCount * n + i);
    if (i % 2 == 0) tile.left -= tile.width;
    if (i < 2) tile.top -= tile.height;
    return tile;
  }
  // The only tile that may contain a pixel.
  ORBBEC_HD Tile tile_at(int64_t n, int y, int x) const {
    return tile(n, (y >= centers[2 * n + 1] ? 2 : 0) + (x >= centers[2 * n] ? 1 : 0));
  }
};

// Image 0 begins at the center. The others follow clockwise from its top, two to a side: the first
// ends or begins at a corner of image 0, and the second continues it. They never overlap.
struct NineTiles : MosaicTables {
  static constexpr int kCount = 9;

  ORBBEC_HD Tile tile(int64_t n, int i) const {
    Tile tile = at_center(n, kCount * n + i);
    if (i == 0) return tile;
    const Tile middle = at_center(n, kCount * n);
    Tile first{};
    if (i % 2 == 0) first = at_center(n, kCount * n + i - 1);
    switch ((i - 1) / 2) {
      case 0:  // above
        tile.left += first.width;
        tile.top -= tile.height;
        break;
      case 1:  // to the right
        tile.left += middle.width;
        tile.top += first.height;
        break;
      case 2:  // below
        tile.left += middle.width - first.width - tile.width;
        tile.top += middle.height;
        break;
      default:  // to the left
        tile.left -= tile.width;
        tile.top += middle.height - first.height - tile.height;
    }
    return tile;
  }
  // The only tile that may contain a pixel.
  ORBBEC_HD Tile tile_at(int64_t n, int y, int x) const {
    const Tile middle = tile(n, 0);
    if (middle.contains(y, x)) return middle;
    const bool above = y < middle.top && x >= middle.left;
    const bool right = x >= middle.right() && y >= middle.top;
    const bool below = y >= middle.bottom() && x < middle.right();
    const int i = above ? 1 : right ? 3 : below ? 5 : 7;
    const Tile first = tile(n, i);
    const bool is_beyond = above   ? x >= first.right()
                           : right ? y >= first.bottom()
                           : below ? x < first.left
                                   : y < first.top;
    return is_beyond ? tile(n, i + 1) : first;
  }
};

template <class Tiles>
struct MosaicRule : Tiles {
  explicit MosaicRule(const GatherArguments& a)
      : Tiles{{Images<const uint8_t>(a.source), {a.pair_indices, a.source.count}, a.numbers}} {}

  ORBBEC_HD SourcePixel source_pixel(int64_t n, int y, int x) const {
    const Tile tile = this->tile_at(n, y, x);
    if (!tile.contains(y, x)) return {PairIndices::kNone, 0, 0};
    return {tile.image, static_cast<int>(y - tile.top), static_cast<int>(x - tile.left)};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Tile tile = this->tile_at(n, y, x);
    if (tile.contains(y, x)) return next_edge(x, width, tile.right());
    int next = width;
    for (int i = 0; i < Tiles::kCount; ++i) next = next_edge(x, next, this->tile(n, i).left);
    return next;
  }
  ORBBEC_HD int bottom(int64_t n, int y, int height) const {
    int next = height;
    for (int i = 0; i < Tiles::kCount; ++i) {
      const Tile tile = this->tile(n, i);
      next = next_edge(y, next, tile.top, tile.bottom());
    }
    return next;
  }
};

// Pixels with a nonzero mask come from the paired image, where it has them.
struct CopyPasteRule {
  Images<const uint8_t> sizes, masks;
  PairIndices pair_indices;

  explicit CopyPasteRule(const GatherArguments& a)
      : sizes(a.source), masks(a.masks), pair_indices{a.pair_indices, a.source.count} {}

  // The columns of row y that may come from the paired image.
  ORBBEC_HD int limit(const Image<const uint8_t>& mask, int64_t pair_index, int y) const {
    if (pair_index == PairIndices::kNone) return 0;
    const Image<const uint8_t> size = sizes[pair_index];
    if (y >= size.height || y >= mask.height) return 0;
    return size.width < mask.width ? size.width : mask.width;
  }
  ORBBEC_HD SourcePixel source_pixel(int64_t n, int y, int x) const {
    const int64_t pair_index = pair_indices.at(n);
    const Image<const uint8_t> mask = masks[n];
    const bool theirs = x < limit(mask, pair_index, y) && mask.at(y, x, 0) != 0;
    return {theirs ? pair_index : n, y, x};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Image<const uint8_t> mask = masks[n];
    const int last = limit(mask, pair_indices.at(n), y);
    if (x >= last) return width;
    const uint8_t* const row = &mask.at(y, 0, 0);
    const bool set = row[x * mask.stride_x] != 0;
    int next = x + 1;
    while (next < last && (row[next * mask.stride_x] != 0) == set) ++next;
    return next;
  }
  ORBBEC_HD int bottom(int64_t, int y, int) const { return y + 1; }
};

// T is an unsigned integer as wide as a value: bits are copied, whatever their type.
template <class T, class Rule>
struct GatherPixels {
  using Value = T;

  Images<const T> source;
  Images<T> output;
  Rule rule;
  T fill[kMaxGatherFills];

  explicit GatherPixels(const GatherArguments& a) : source(a.source), output(a.output), rule(a) {
    for (int c = 0; c < kMaxGatherFills; ++c) fill[c] = static_cast<T>(a.fill[c]);
  }

  ORBBEC_HD T fill_of(int64_t c) const { return fill[c < kMaxGatherFills ? c : 0]; }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<T> to = output[n];
    const SourcePixel source_pixel = rule.source_pixel(n, y, x);
    if (source_pixel.image == PairIndices::kNone) {
      for (int64_t c = 0; c < output.channels; ++c) to.at(y, x, c) = fill_of(c);
      return;
    }
    const Image<const T> from = source[source_pixel.image];
    for (int64_t c = 0; c < output.channels; ++c)
      to.at(y, x, c) = from.at(source_pixel.y, source_pixel.x, c);
  }
};

template <class T, class Launch>
int dispatch_gather_rule(const GatherArguments& a, const Launch& launch) {
  switch (a.gather) {
    case Gather::kCutMix:
      return launch(GatherPixels<T, CutMixRule>(a));
    case Gather::kMosaic:
      return launch(GatherPixels<T, MosaicRule<FourTiles>>(a));
    case Gather::kMosaic9:
      return launch(GatherPixels<T, MosaicRule<NineTiles>>(a));
    case Gather::kCopyPaste:
      return launch(GatherPixels<T, CopyPasteRule>(a));
  }
  return 0;
}

template <class Launch>
int dispatch_gather(const GatherArguments& a, const Launch& launch) {
  switch (a.element_size) {
    case 1:
      return dispatch_gather_rule<uint8_t>(a, launch);
    case 2:
      return dispatch_gather_rule<uint16_t>(a, launch);
    case 4:
      return dispatch_gather_rule<uint32_t>(a, launch);
    default:
      return dispatch_gather_rule<uint64_t>(a, launch);
  }
}

}  // namespace orbbec
