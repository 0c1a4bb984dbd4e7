// cutmix, mosaic and copy_paste by masks of yes and no: every pixel of the output is one of an
// image, or the fill. A rule says of which, and up to where the next pixels are the next ones of
// the same image. Included by moves_cpu.cpp, moves_cuda.cu and binding.cpp.
#pragma once

#include "mix.h"

namespace orbbec {

constexpr int kMaxMoveFills = 4;

enum class Move { kCutMix, kMosaic, kCopyPaste };

struct MoveArguments {
  AnyImages source, output;
  Move move;
  int64_t element_size;
  const int64_t* partners;       // [N], of a mosaic [N, 4]
  const int64_t* numbers;        // boxes [N, 4], or centres [N, 2]
  AnyImages masks;               // uint8, one channel
  uint64_t fill[kMaxMoveFills];  // the bits of a value, a channel
};

ORBBEC_HD int clamp_to_int(int64_t value, int64_t low, int64_t high) {
  return static_cast<int>(value < low ? low : value > high ? high : value);
}

// Pixels [left, right) of rows [top, bottom) are the partner's, where it has them.
struct CutMixRule {
  Images<const uint8_t> sizes;
  Partners partners;
  const int64_t* boxes;

  explicit CutMixRule(const MoveArguments& a)
      : sizes(a.source), partners{a.partners, a.source.count}, boxes(a.numbers) {}

  struct Span {
    int64_t partner;
    int left, right;
  };
  ORBBEC_HD Span span(int64_t n, int y) const {
    const int64_t partner = partners.at(n);
    if (partner == Partners::kNone) return {n, 0, 0};
    const Image<const uint8_t> size = sizes[partner];
    const int64_t* const box = boxes + 4 * n;
    if (y < box[1] || y >= box[3] || y >= size.height) return {n, 0, 0};
    const int left = clamp_to_int(box[0], 0, size.width);
    return {partner, left, clamp_to_int(box[2], left, size.width)};
  }
  ORBBEC_HD Place place(int64_t n, int y, int x) const {
    const Span s = span(n, y);
    return {x >= s.left && x < s.right ? s.partner : n, y, x};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Span s = span(n, y);
    const int next = x < s.left ? s.left : x < s.right ? s.right : width;
    return next < width && s.left < s.right ? next : width;
  }
};

// Four images about a centre: the last, first, last ... pixel of each touches it.
struct MosaicRule {
  Images<const uint8_t> sizes;
  Partners partners;
  const int64_t* centers;

  explicit MosaicRule(const MoveArguments& a)
      : sizes(a.source), partners{a.partners, a.source.count}, centers(a.numbers) {}

  // Where column 0 and row 0 of an image come to lie, and the quarter that shows of it.
  struct Quarter {
    int64_t image, left, top;
    int width, height;
  };
  ORBBEC_HD Quarter quarter(int64_t n, int y, int x) const {
    // An output is of int sides: a centre further outside is as good as one there.
    const int64_t far = int64_t{1} << 31;
    const int64_t center_x = bounded(centers[2 * n], far),
                  center_y = bounded(centers[2 * n + 1], far);
    const bool right = x >= center_x, lower = y >= center_y;
    const int64_t image = partners.at(4 * n + (lower ? 2 : 0) + (right ? 1 : 0));
    if (image == Partners::kNone) return {image, 0, 0, 0, 0};
    const Image<const uint8_t> size = sizes[image];
    return {image, right ? center_x : center_x - size.width,
            lower ? center_y : center_y - size.height, size.width, size.height};
  }
  ORBBEC_HD Place place(int64_t n, int y, int x) const {
    const Quarter q = quarter(n, y, x);
    const int64_t from_y = y - q.top, from_x = x - q.left;
    const bool inside = from_y >= 0 && from_y < q.height && from_x >= 0 && from_x < q.width;
    if (!inside) return {Partners::kNone, 0, 0};
    return {q.image, static_cast<int>(from_y), static_cast<int>(from_x)};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Quarter q = quarter(n, y, x);
    const int64_t center = centers[2 * n];
    int64_t next = x < center && center < width ? center : width;
    if (q.image != Partners::kNone) {
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

// Pixels whose mask is not 0 are the partner's, where it has them.
struct CopyPasteRule {
  Images<const uint8_t> sizes, masks;
  Partners partners;

  explicit CopyPasteRule(const MoveArguments& a)
      : sizes(a.source), masks(a.masks), partners{a.partners, a.source.count} {}

  // The columns of row y that could be the partner's.
  ORBBEC_HD int limit(const Image<const uint8_t>& mask, int64_t partner, int y) const {
    if (partner == Partners::kNone) return 0;
    const Image<const uint8_t> size = sizes[partner];
    if (y >= size.height || y >= mask.height) return 0;
    return size.width < mask.width ? size.width : mask.width;
  }
  ORBBEC_HD Place place(int64_t n, int y, int x) const {
    const int64_t partner = partners.at(n);
    const Image<const uint8_t> mask = masks[n];
    const bool theirs = x < limit(mask, partner, y) && mask.at(y, x, 0) != 0;
    return {theirs ? partner : n, y, x};
  }
  ORBBEC_HD int end(int64_t n, int y, int x, int width) const {
    const Image<const uint8_t> mask = masks[n];
    const int last = limit(mask, partners.at(n), y);
    if (x >= last) return width;
    const uint8_t* const row = &mask.at(y, 0, 0);
    const bool set = row[x * mask.stride_x] != 0;
    int next = x + 1;
    while (next < last && (row[next * mask.stride_x] != 0) == set) ++next;
    return next;
  }
};

// T is an unsigned integer as wide as a value: bits are moved, whatever they mean.
template <class T, class Rule>
struct MovePixels {
  using Value = T;

  Images<const T> source;
  Images<T> output;
  Rule rule;
  T fill[kMaxMoveFills];

  explicit MovePixels(const MoveArguments& a) : source(a.source), output(a.output), rule(a) {
    for (int c = 0; c < kMaxMoveFills; ++c) fill[c] = static_cast<T>(a.fill[c]);
  }

  ORBBEC_HD T fill_of(int64_t c) const { return fill[c < kMaxMoveFills ? c : 0]; }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<T> to = output[n];
    const Place place = rule.place(n, y, x);
    if (place.image == Partners::kNone) {
      for (int64_t c = 0; c < output.channels; ++c) to.at(y, x, c) = fill_of(c);
      return;
    }
    const Image<const T> from = source[place.image];
    for (int64_t c = 0; c < output.channels; ++c) to.at(y, x, c) = from.at(place.y, place.x, c);
  }
};

template <class T, class Launch>
int dispatch_move(const MoveArguments& a, const Launch& launch) {
  switch (a.move) {
    case Move::kCutMix:
      return launch(MovePixels<T, CutMixRule>(a));
    case Move::kMosaic:
      return launch(MovePixels<T, MosaicRule>(a));
    case Move::kCopyPaste:
      return launch(MovePixels<T, CopyPasteRule>(a));
  }
  return 0;
}

template <class Launch>
int dispatch_moves(const MoveArguments& a, const Launch& launch) {
  switch (a.element_size) {
    case 1:
      return dispatch_move<uint8_t>(a, launch);
    case 2:
      return dispatch_move<uint16_t>(a, launch);
    case 4:
      return dispatch_move<uint32_t>(a, launch);
    default:
      return dispatch_move<uint64_t>(a, launch);
  }
}

}  // namespace orbbec
