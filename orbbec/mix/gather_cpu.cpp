#include <algorithm>

#include "../executors/strips_cpu.h"
#include "copy_pixels_cpu.h"
#include "gather.h"

namespace orbbec {
namespace {

// Rows [top, bottom) of image n, whose runs are those of row `top`.
template <class T, class Rule>
void gather_rows(const GatherPixels<T, Rule>& op, int64_t n, int top, int bottom) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  for (int x = 0; x < to.width;) {
    const SourcePixel first = op.rule.source_pixel(n, top, x);
    const int end = op.rule.end(n, top, x, to.width);
    const Area area{top, x, bottom - top, end - x};
    if (first.image != PairIndices::kNone) {
      copy_pixels(op.source[first.image], first.y, first.x, to, area, channels);
    } else {
      fill_pixels(to, area, channels, [&](int64_t c) { return op.fill_of(c); });
    }
    x = end;
  }
}

// Whole rows of the image itself, which are copied faster than parts, and over them, while they are
// in a cache, those of the paired image.
template <class T>
void gather_rows(const GatherPixels<T, CutMixRule>& op, int64_t n, int top, int bottom) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const int rows = bottom - top;
  const auto [pair_index, left, right] = op.rule.span(n, top);
  copy_pixels(op.source[n], top, 0, to, {top, 0, rows, to.width}, channels);
  copy_pixels(op.source[pair_index], top, left, to, {top, left, rows, right - left}, channels);
}

}  // namespace

void gather_pixels_cpu(const GatherArguments& arguments, const ParallelFor& parallel) {
  dispatch_gather(arguments, [&](const auto& op) {
    const int rows = strip_rows(op.output, arguments.element_size);
    for_each_strip_cpu(op.output, rows, parallel, [&](int64_t n, int first) {
      const int last = std::min<int64_t>(int64_t{first} + rows, op.output[n].height);
      for (int y = first, bottom; y < last; y = bottom) {
        bottom = std::min(op.rule.bottom(n, y, last), last);
        gather_rows(op, n, y, bottom);
      }
    });
    return 0;
  });
}

}  // namespace orbbec
