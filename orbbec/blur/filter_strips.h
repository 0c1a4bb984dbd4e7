// filter2d on the CPU, strip by strip of a plane: the rows that a window needs are kept as numbers.
// Included by the files that compile it for a kind of machine; `Isa` keeps their code apart.
#pragma once

#include "filter.h"
#include "planes.h"

namespace orbbec {
namespace {

constexpr int kFilterStrip = 256;
constexpr int kFilterLanes = 64;  // sums that stay in registers

struct FilterTap {
  int row, offset;  // offset: in values, from the first of the line
};

template <class Isa, class T>
struct StripFilter {
  using F = Compute<T>;

  std::vector<F> factors;
  std::vector<FilterTap> taps;
  Window window;

  StripFilter(const Filter2d<T>& op, int64_t n, int group) : window(op.arguments.window) {
    const F* const kernel = op.kernel(n);
    for (int i = 0; i < window.height; ++i) {
      for (int j = 0; j < window.width; ++j) {
        const F factor = kernel[int64_t{i} * window.width + j];
        if (factor == 0) continue;
        factors.push_back(factor);
        taps.push_back({i, j * group});
      }
    }
  }

  void row(const F* const* lines, T* out, int count) const {
    for (int v = 0; v < count; v += kFilterLanes) {
      F sum[kFilterLanes] = {};
      for (size_t t = 0; t < taps.size(); ++t) {
        const F factor = factors[t];
        const F* const from = lines[taps[t].row] + taps[t].offset + v;
        for (int i = 0; i < kFilterLanes; ++i) {
          sum[i] = fused_multiply_add(factor, from[i], sum[i]);
        }
      }
      for (int i = 0; i < kFilterLanes; ++i) out[v + i] = store<T>(sum[i]);
    }
  }

  void run(const Plane<const T>& source, const Plane<T>& output, const Strip& strip,
           Border border) const {
    const int margin = window.before() * source.group;
    const int used = strip.count + (window.width - 1) * source.group;
    const size_t length = used + kFilterStrip;
    std::vector<F> kept(length * window.height);
    std::vector<const F*> lines(window.height);
    T out[kFilterStrip];
    for (int number = 0; number < source.height + window.height - 1; ++number) {
      fill_line(source, number - window.above(), strip.first - margin, used, border,
                kept.data() + number % window.height * length);
      const int y = number - (window.height - 1);
      if (y < 0) continue;
      for (int i = 0; i < window.height; ++i) {
        lines[i] = kept.data() + (y + i) % window.height * length;
      }
      row(lines.data(), out, strip.count);
      store_values(output, y, strip.first, strip.count, out);
    }
  }
};

template <class Isa, class T>
void run_filter(const Filter2d<T>& op, const ParallelFor& parallel) {
  const bool interleaved = is_interleaved(op.source) && is_interleaved(op.output);
  const int group = interleaved ? static_cast<int>(op.source.channels) : 1;
  const std::vector<Strip> strips = strips_of(op.output, interleaved, kFilterStrip);
  parallel(static_cast<int64_t>(strips.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Strip& strip = strips[i];
      StripFilter<Isa, T>(op, strip.n, group)
          .run(plane_of(op.source[strip.n], strip.channel, group),
               plane_of(op.output[strip.n], strip.channel, group), strip, op.arguments.border);
    }
  });
}

template <class Isa>
void run_filter(const FilterArguments& arguments, const ParallelFor& parallel) {
  dispatch_pixels<Filter2d>(arguments, [&](const auto& op) {
    run_filter<Isa>(op, parallel);
    return 0;
  });
}

}  // namespace
}  // namespace orbbec
