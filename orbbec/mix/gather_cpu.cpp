#include <algorithm>

#include "../executors/strips_cpu.h"
#include "copy_pixels_cpu.h"
#include "gather.h"

namespace orbbec {
namespace {

// Rows of image n, whose runs are those of the first one.
template <class T, class Rule>
void gather_rows(const GatherPixels<T, Rule>& op, int64_t n, const Area& rows) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const int right = rows.x + rows.width;
  for (int x = rows.x; x < right;) {
    const SourcePixel first = op.rule.source_pixel(n, rows.y, x);
    const int end = op.rule.end(n, rows.y, x, right);
    const Area area{rows.y, x, rows.height, end - x};
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
void gather_rows(const GatherPixels<T, CutMixRule>& op, int64_t n, const Area& rows) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const auto [pair_index, left, right] = op.rule.span(n, rows.y);
  copy_pixels(op.source[n], rows.y, 0, to, rows, channels);
  copy_pixels(op.source[pair_index], rows.y, left, to, {rows.y, left, rows.height, right - left},
              channels);
}

// The region of output n.
template <class T>
Area region_of(const GatherArguments& a, int64_t n, const Image<T>& to) {
  if (a.regions == nullptr) return {0, 0, to.height, to.width};
  const int64_t* const region = a.regions + 4 * n;
  const int left = clamp_to_int(region[0], 0, to.width);
  const int top = clamp_to_int(region[1], 0, to.height);
  return {top, left, clamp_to_int(region[3], top, to.height) - top,
          clamp_to_int(region[2], left, to.width) - left};
}

}  // namespace

void gather_pixels_cpu(const GatherArguments& arguments, const ParallelFor& parallel) {
  dispatch_gather(arguments, [&](const auto& op) {
    const int rows = strip_rows(op.output, arguments.element_size);
    for_each_strip_cpu(op.output, rows, parallel, [&](int64_t n, int first) {
      const Area region = region_of(arguments, n, op.output[n]);
      const int last = std::min<int64_t>(int64_t{first} + rows, region.y + region.height);
      for (int y = std::max(first, region.y), bottom; y < last; y = bottom) {
        bottom = std::min(op.rule.bottom(n, y, last), last);
        gather_rows(op, n, {y, region.x, bottom - y, region.width});
      }
    });
    return 0;
  });
}

}  // namespace orbbec
