// A separable filter on the CPU, strip by strip of a plane: each row of a strip goes once along the
// rows; the sums of as many rows as the window is high are kept, in cache, and added down the
// columns. Included by the files that compile it for a kind of machine; `Isa` keeps their code
// apart.
#pragma once

#include "planes.h"
#include "separable.h"

namespace orbbec {
namespace {  // each file compiles its own, for its kind of machine

constexpr int kStripValues = 256;  // the kept rows of a window of 23 fit the first cache

// Where a value stands in its row, channels counted: the first of a strip, and the step to the
// next.
struct ValueIndex {
  int64_t first, step;

  int64_t of(int v) const { return first + v * step; }
};

// The passes of a rule over vectors of the compiler.
template <class Isa, class Rule>
struct VectorPasses {
  using Value = typename Rule::Value;
  using Number = typename Rule::Row;  // of a line
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;
  static constexpr int kLanes = 64 / sizeof(Sum);
  typedef Row RowVector __attribute__((vector_size(kLanes * sizeof(Row))));
  typedef Sum SumVector __attribute__((vector_size(kLanes * sizeof(Sum))));
  static constexpr int kRowWidth = kStripValues;  // elements of a kept row

  Rule rule;
  Window window;
  int group;

  VectorPasses(const Rule& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {}

  static RowVector load_row(const Row* from) {
    RowVector vector;
    __builtin_memcpy(&vector, from, sizeof(vector));
    return vector;
  }

  void across(const Number* line, Row* row, int count) {
    for (int v = 0; v < count; v += kLanes) {
      const RowVector sum = rule.template pass<RowVector>(
          1, window.width, [&](int i) { return load_row(line + v + i * group); });
      __builtin_memcpy(row + v, &sum, sizeof(sum));
    }
  }

  void down(const Row* const* rows, const ValueIndex& index, Value* out, int count) {
    for (int v = 0; v < count; v += kLanes) {
      const SumVector sum = rule.template pass<SumVector>(0, window.height, [&](int i) {
        return __builtin_convertvector(load_row(rows[i] + v), SumVector);
      });
      for (int i = 0; i < kLanes; ++i) out[v + i] = rule.finish(sum[i], index.of(v + i));
    }
  }
};

// The last row of the window comes in, the first goes out.
template <class Passes, class T>
void run_strip(Passes& passes, const Plane<const T>& source, const Plane<T>& output,
               const Strip& strip, const ValueIndex& index, Border border) {
  using Row = typename Passes::Row;
  const Window window = passes.window;
  const int margin = window.before() * source.group;
  const int line_values = strip.count + (window.width - 1) * source.group;
  // Vectors read past the last value, up to a whole strip.
  std::vector<typename Passes::Number> line(line_values + kStripValues);
  std::vector<Row> kept(static_cast<size_t>(window.height) * Passes::kRowWidth);
  std::vector<const Row*> rows(window.height);
  const auto kept_row = [&](int number) {
    return kept.data() + static_cast<size_t>(number % window.height) * Passes::kRowWidth;
  };
  T out[kStripValues];
  for (int number = 0; number < source.height + window.height - 1; ++number) {
    fill_line(source, number - window.above(), strip.first - margin, line_values, border,
              line.data());
    passes.across(line.data(), kept_row(number), strip.count);
    const int y = number - (window.height - 1);
    if (y < 0) continue;
    for (int i = 0; i < window.height; ++i) rows[i] = kept_row(y + i);
    passes.down(rows.data(), index, out, strip.count);
    store_values(output, y, strip.first, strip.count, out);
  }
}

// Whole numbers: taps of 0 at both ends of an axis are left out.
template <class Rule>
Window trimmed(const Separable<Rule>& op, int64_t n, Window window) {
  if constexpr (Rule::kTapsMayBeZero) {
    int* const sides[2] = {&window.height, &window.width};
    for (int axis = 0; axis < 2; ++axis) {
      while (*sides[axis] > 1 && *Rule::first_tap(op.arguments, n, axis, *sides[axis]) == 0) {
        *sides[axis] -= 2;
      }
    }
  }
  return window;
}

// Every strip of every image, by `Passes(rule, window, group)`.
template <class Passes, class Rule>
void run_separable(const Separable<Rule>& op, const ParallelFor& parallel) {
  using T = typename Rule::Value;
  const Images<const T>& source = op.source;
  const Images<T>& output = op.output;
  const bool interleaved = is_interleaved(source) && is_interleaved(output);
  const int group = interleaved ? static_cast<int>(source.channels) : 1;
  const std::vector<Strip> strips = strips_of(output, interleaved, kStripValues);
  parallel(static_cast<int64_t>(strips.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Strip& strip = strips[i];
      const Plane<const T> from = plane_of(source[strip.n], strip.channel, group);
      const Window window = trimmed(op, strip.n, op.window(strip.n, from.height, from.width));
      Passes passes(Rule(op.arguments, strip.n, window, source.channels * from.width), window,
                    group);
      const ValueIndex index =
          interleaved ? ValueIndex{strip.first, 1}
                      : ValueIndex{strip.first * source.channels + strip.channel, source.channels};
      run_strip(passes, from, plane_of(output[strip.n], strip.channel, group), strip, index,
                op.arguments.border);
    }
  });
}

}  // namespace
}  // namespace orbbec
