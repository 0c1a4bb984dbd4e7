#include <algorithm>
#include <vector>

#include "../executors/strips_cpu.h"
#include "copy_pixels_cpu.h"
#include "gather.h"

namespace orbbec {
namespace {

constexpr int kUsualRuns = 8;  // of a row: their memory is allocated at once

template <class T>
Image<T> from_pixel(Image<T> image, int y, int x, int64_t c) {
  image.data = &image.at(y, x, c);
  return image;
}

// Columns of rows, from those of an image that begins with their first pixel.
template <class T>
struct Run {
  Image<const T> source;
  int x, width;
  int first_row;  // those above are complete
};

// The runs of rows, those of the first one. A fill is written to the first row and copied from it.
template <class T, class Rule>
std::vector<Run<T>> runs_of(const GatherPixels<T, Rule>& op, int64_t n, const Area& rows) {
  const Image<T> to = op.output[n];
  const int right = rows.x + rows.width;
  std::vector<Run<T>> runs;
  runs.reserve(kUsualRuns);
  for (int x = rows.x, end; x < right; x = end) {
    const SourcePixel first = op.rule.source_pixel(n, rows.y, x);
    end = op.rule.end(n, rows.y, x, right);
    if (first.image != PairIndices::kNone) {
      const Image<const T> source = from_pixel(op.source[first.image], first.y, first.x, 0);
      runs.push_back({.source = source, .x = x, .width = end - x, .first_row = 0});
    } else {
      fill_pixels(to, {rows.y, x, 1, end - x}, op.output.channels,
                  [&](int64_t c) { return op.fill_of(c); });
      const Image<const T> source{.data = &to.at(rows.y, x, 0),
                                  .height = 1,
                                  .width = end - x,
                                  .stride_y = 0,
                                  .stride_x = to.stride_x,
                                  .stride_c = to.stride_c};
      runs.push_back({.source = source, .x = x, .width = end - x, .first_row = 1});
    }
  }
  return runs;
}

// Rows of image n, whose runs are those of the first one. Each row is complete before the next, so
// that neighboring runs meet in a cache line that is still in L1.
template <class T, class Tiles>
void gather_rows(const GatherPixels<T, MosaicRule<Tiles>>& op, int64_t n, const Area& rows) {
  const Image<T> to = op.output[n];
  const int64_t channels = op.output.channels;
  const int64_t step = is_interleaved(to, channels) ? channels : 1;
  const std::vector<Run<T>> runs = runs_of(op, n, rows);
  for (int i = 0; i < rows.height; ++i) {
    for (int64_t c = 0; c < channels; c += step) {
      const Image<T> row = from_pixel(to, rows.y + i, 0, c);
      for (const Run<T>& run : runs) {
        if (i < run.first_row) continue;
        copy_pixels(from_pixel(run.source, i, 0, c), 0, 0, row, {0, run.x, 1, run.width}, step);
      }
    }
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

// One row, whose runs need no list.
template <class T>
void gather_rows(const GatherPixels<T, CopyPasteRule>& op, int64_t n, const Area& row) {
  const Image<T> to = op.output[n];
  for (int x = 0, end; x < row.width; x = end) {
    const SourcePixel first = op.rule.source_pixel(n, row.y, x);
    end = op.rule.end(n, row.y, x, row.width);
    copy_pixels(op.source[first.image], row.y, x, to, {row.y, x, 1, end - x}, op.output.channels);
  }
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
