// cutmix, mosaic and copy_paste by binary masks: each output pixel is a pixel of an image, or the
// fill. A rule says of which image, and how many pixels follow contiguously. Included by
// gather_cpu.cpp, gather_cuda.cu and binding.cpp.
#pragma once

#include "mix.h"

namespace orbbec {

constexpr int kMaxGatherFills = 4;

enum class Gather { kCutMix, kMosaic, kCopyPaste };

struct GatherArguments {
  AnyImages source, output;
  Gather gather;
  int64_t element_size;
  const int64_t* pair_indices;     // [N], of a mosaic [N, 4]
  const int64_t* numbers;          // boxes [N, 4], or centers [N, 2]
  AnyImages masks;                 // uint8, one channel
  uint64_t fill[kMaxGatherFills];  // the bits of a value, one per channel
};

ORBBEC_HD int clamp_to_int(int64_t value, int64_t low, int64_t high) {
  return static_cast<int>(value < low ? low : value > high ? high : value);
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
};

// Four images around a center: their corner pixels meet there.
struct MosaicRule {
  Images<const uint8_t> sizes;
  PairIndices pair_indices;
  const int64_t* centers;

  explicit MosaicRule(const GatherArguments& a)
      : sizes(a.source), pair_indices{a.pair_indices, a.source.count}, centers(a.numbers) {}

  // The offset of an image, and the visible quarter.
  struct Quarter {
    int64_t image, left, top;
    int width, height;
  };
  ORBBEC_HD Quarter quarter(int64_t n, int y, int x) const {
    // Output sides are int: a center farther outside is equivalent to one this far.
    const int64_t far = int64_t{1} << 31;
    const int64_t center_x = bounded(centers[2 * n], far),
                  center_y = bounded(centers[2 * n + 1], far);
    const bool right = x >= center_x, lower = y >= center_y;
    const int64_t image = pair_indices.at(4 * n + (lower ? 2 : 0) + (right ? 1 : 0));
    if (image == PairIndices::kNone)
      return {.image = image, .left = 0, .top = 0, .width = 0, .height = 0};
    const Image<const uint8_t> size = sizes[image];
    return {.image = image,
            .left = right ? center_x : center_x - size.width,
            .top = lower ? center_y : center_y - size.height,
            .width = size.width,
            .height = size.height};
  }
  ORBBEC_HD SourcePixel source_pixel(int64_t n, int y, int x) const {
    const Quarter q = quarter(n, y, x);
    const int64_t from_y = y - q.top, from_x = x - q.left;
    const bool inside = from_y >= 0 && from_y < q.height && from_x >= 0 && from_x < q.width;
    if (!inside) return {PairIndices::kNone, 0, 0};
    return {q.image, static_cast<int>(from_y), static_cast<int>(from_x)};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Quarter q = quarter(n, y, x);
    const int64_t center = centers[2 * n];
    int64_t next = x < center && center < width ? center : width;
    if (q.image != PairIndices::kNone) {
      if (x < q.left) next = q.left < next ? q.left : next;
      const int64_t after = q.left + q.width;
      if (x < after) next = after < next ? after : next;
    }
    return static_cast<int>(next);
  }

 private:
  ORBBEC_HD static int64_t bounded(int64_t value, int64_t far) {
    return value < -far ? -far : value > far ? far : value;
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
      return launch(GatherPixels<T, MosaicRule>(a));
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
