// The displacements on the CPU, strip by strip: rows of noise are drawn where the blur reads them.
// Included by elastic_cpu.cpp, elastic_avx2.cpp and elastic_avx512.cpp, under their targets.
#pragma once

#include "../../filters/separable/strips.h"
#include "elastic.h"
#include "elastic_targets.h"

namespace orbbec {
namespace {  // one copy per target

// The noise of one channel of an image.
struct NoiseRows {
  const NoiseKey& key;
  int64_t n, channel;
  int height, width;
  DrawRun draw;
  std::vector<float> row;

  NoiseRows(const PhiloxNoiseArguments& a, const Strip& strip, int height, DrawRun draw)
      : key(a.noise),
        n(strip.n),
        channel(strip.channel),
        height(height),
        width(a.width),
        draw(draw),
        row(a.width + kDrawn) {}

  // Values [first, first + count) of row y, reflected at the edges. What is reflected is within the
  // same range, or the range covers the row.
  void read(int y, int64_t first, int count, float* line) {
    const int begin = static_cast<int>(std::max<int64_t>(first, 0)) / 4 * 4;
    const int end = static_cast<int>(std::min<int64_t>(first + count, width));
    const int64_t number = channel * height + border_index(y, height, Border::kReflect101);
    for (int x = begin; x < end; x += kRunLength)
      draw(key,
           {.n = n,
            .row = number,
            .groups = (int64_t{width} + 3) / 4,
            .group = x / 4,
            .length = std::min(end - x, kRunLength)},
           row.data() + x);
    const Plane<const float> plane{
        .data = row.data(), .height = 1, .width = width, .stride_y = 0, .stride_v = 1, .group = 1};
    fill_line(plane, 0, first, count, Border::kReflect101, line);
  }
};

void write_displacements(const ElasticField& field, const Image<float>& output, const Strip& strip,
                         int y, const float* smooth) {
  const int axis = static_cast<int>(strip.channel), first = static_cast<int>(strip.first);
  const float strength = field.strength(strip.n, axis);
  float* const to = &output.at(y, first, axis);
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
    NoiseRows noise(a.noise, strip, output.height, draw);
    run_rows(
        passes, strip, {strip.first, 1},
        [&](int y, int64_t first, int count, float* line) { noise.read(y, first, count, line); },
        [&](int y, const float* smooth) { write_displacements(field, output, strip, y, smooth); });
  });
}

}  // namespace orbbec
