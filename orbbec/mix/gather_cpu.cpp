#include <algorithm>
#include <cstring>

#include "../executors/strips_cpu.h"
#include "gather.h"

namespace orbbec {
namespace {

// Copies `count` pixels starting at `x`; contiguous ones with one memcpy.
template <class T>
void copy_run(const Image<const T>& from, const SourcePixel& source_pixel, const Image<T>& to,
              int y, int x, int64_t channels, int count) {
  if (from.stride_c == 1 && to.stride_c == 1 && from.stride_x == channels &&
      to.stride_x == channels) {
    memcpy(&to.at(y, x, 0), &from.at(source_pixel.y, source_pixel.x, 0),
           sizeof(T) * channels * count);
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T* const source = &from.at(source_pixel.y, source_pixel.x, c);
    T* const target = &to.at(y, x, c);
    if (from.stride_x == 1 && to.stride_x == 1) {
      memcpy(target, source, sizeof(T) * count);
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * to.stride_x] = source[i * from.stride_x];
    }
  }
}

// Fills `count` pixels starting at `x`; contiguous ones by copies of those before them.
template <class T, class Rule>
void fill_run(const GatherPixels<T, Rule>& op, const Image<T>& to, int y, int x, int count) {
  const int64_t channels = op.output.channels;
  if (to.stride_c == 1 && to.stride_x == channels) {
    T* const first = &to.at(y, x, 0);
    for (int64_t c = 0; c < channels; ++c) first[c] = op.fill_of(c);
    for (int64_t done = 1; done < count; done *= 2) {
      const int64_t pixels = std::min(done, count - done);
      memcpy(first + done * channels, first, sizeof(T) * channels * pixels);
    }
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    T* const target = &to.at(y, x, c);
    for (int64_t i = 0; i < count; ++i) target[i * to.stride_x] = op.fill_of(c);
  }
}

template <class T, class Rule>
void gather_row(const GatherPixels<T, Rule>& op, int64_t n, int y) {
  const Image<T> to = op.output[n];
  for (int x = 0; x < to.width;) {
    const SourcePixel source_pixel = op.rule.source_pixel(n, y, x);
    const int end = op.rule.end(n, y, x, to.width);
    if (source_pixel.image != PairIndices::kNone) {
      copy_run(op.source[source_pixel.image], source_pixel, to, y, x, op.output.channels, end - x);
    } else {
      fill_run(op, to, y, x, end - x);
    }
    x = end;
  }
}

}  // namespace

void gather_pixels_cpu(const GatherArguments& arguments, const ParallelFor& parallel) {
  dispatch_gather(arguments, [&](const auto& op) {
    for_each_strip_cpu(op.output, 1, parallel, [&](int64_t n, int y) { gather_row(op, n, y); });
    return 0;
  });
}

}  // namespace orbbec
