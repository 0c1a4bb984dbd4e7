// The displacements on the CPU, strip by strip: rows of noise are drawn where the blur reads them.
// Included by elastic_cpu.cpp, elastic_avx2.cpp and elastic_avx512.cpp, under their targets.
#pragma once

#include "../../filters/separable/strips.h"
#include "elastic.h"
#include "elastic_targets.h"

namespace orbbec {
namespace {  // one copy per target

// The noise of one channel of an image, where the windows of a strip cover it.
class NoiseRows {
 public:
  NoiseRows(const PhiloxNoiseArguments& a, const Strip& strip, const LineRange& range, DrawRun draw)
      : key_(a.noise),
        n_(strip.n),
        first_row_(strip.channel * (a.rows / 2)),
        height_(a.rows / 2),
        width_(a.width),
        begin_(static_cast<int>(std::max<int64_t>(range.first, 0)) / 4 * 4),
        end_(static_cast<int>(std::min<int64_t>(range.first + range.count, a.width))),
        draw_(draw),
        drawn_(end_ - begin_ + kDrawn),
        reader_({.data = drawn_.data() - begin_,
                 .height = 1,
                 .width = a.width,
                 .stride_y = 0,
                 .stride_v = 1,
                 .group = 1},
                range.first, range.count, Border::kReflect101) {}

  // Row y, reflected at the edges. What is reflected at the ends of a row is within the same range,
  // or the range covers the row.
  void read(int y, float* line) {
    const int64_t row = first_row_ + border_index(y, height_, Border::kReflect101);
    for (int x = begin_; x < end_; x += kRunLength)
      draw_(key_,
            {.n = n_,
             .row = row,
             .groups = (int64_t{width_} + 3) / 4,
             .group = x / 4,
             .length = std::min(end_ - x, kRunLength)},
            drawn_.data() + x - begin_);
    reader_.read(0, line);
  }

 private:
  const NoiseKey& key_;
  int64_t n_, first_row_;
  int height_, width_, begin_, end_;  // of the rows; of the values that are drawn
  DrawRun draw_;
  std::vector<float> drawn_;  // values from begin_ on
  LineReader<float> reader_;
};

void write_displacements(const ElasticField& field, const Image<float>& output, const Strip& strip,
                         int y, const float* smooth) {
  const int axis = static_cast<int>(strip.channel), first = static_cast<int>(strip.first);
  const float strength = field.strength(strip.n, axis);
  float* const to = &output.at(y, first, axis);
  const int below = std::min(y + kPrefetchRows, output.height - 1);
  const float* const ahead = &output.at(below, first, axis);
  for (int i = 0; i < strip.count; i += 16) __builtin_prefetch(ahead + i, 1);
  for (int i = 0; i < strip.count; ++i)
    to[i] = field.at(smooth[i], strength, axis == 0 ? first + i : y);
}

}  // namespace

template <class Target>
void elastic_on(const ElasticArguments& a, DrawRun draw, const ParallelFor& parallel) {
  using Rule = GaussianRule<float>;
  using Passes = VectorPasses<Target, Rule>;
  const Separable<Rule> blur{a.blur, Images<const float>(a.blur.source),
                             Images<float>(a.blur.output)};
  const ElasticField field(a);
  for_each_strip(separable_strips<Passes>(blur, false), parallel, [&](const Strip& strip) {
    const Image<float> output = blur.output[strip.n];
    const Window window = blur.window(strip.n, output.height, output.width);
    Passes passes(Rule(a.blur, strip.n, window, output.width), window, 1);
    NoiseRows noise(a.noise, strip, line_range(strip, window, 1), draw);
    run_rows(
        passes, strip, {strip.first, 1}, output.height, a.blur.border,
        [&](int y, float* line) { noise.read(y, line); },
        [&](int y, const float* smooth) { write_displacements(field, output, strip, y, smooth); });
  });
}

}  // namespace orbbec
