// A separable filter on the CPU, strip by strip of a plane: each row of a strip is filtered
// horizontally once; as many filtered rows as the window is high stay in cache and are summed
// vertically. Compiled once per target; `Target` keeps the copies apart.
#pragma once

#include "../planes.h"
#include "../targets.h"
#include "separable.h"

namespace orbbec {
namespace {  // one copy per target

constexpr int kStripValues = 2048;
constexpr int kMinStripValues = 256;
// Rows of a strip: partly in the L2 cache, since whole rows are read from memory faster than
// pieces.
constexpr int kCacheBytes = 40 << 10;

// The position of a value in its row, counting channels: the first of a strip, and the step to the
// next.
struct ValueIndex {
  int64_t first, step;

  int64_t of(int v) const { return first + v * step; }
};

// Independent vector sums, to hide the latency of additions. No array, which would lie in memory.
template <class Number, int kLanes>
struct Block {
  static constexpr int kValues = 4 * kLanes;
  typedef Number Vector __attribute__((vector_size(kLanes * sizeof(Number))));
  Vector a, b, c, d;

  template <class From>
  static Vector load_vector(const From* from) {
    typedef From Loaded __attribute__((vector_size(kLanes * sizeof(From))));
    Loaded loaded;
    __builtin_memcpy(&loaded, from, sizeof(loaded));
    return __builtin_convertvector(loaded, Vector);
  }
  static void store_vector(Vector vector, Number* to) {
    __builtin_memcpy(to, &vector, sizeof(vector));
  }

  template <class From>
  static Block load(const From* from) {
    return {load_vector(from), load_vector(from + kLanes), load_vector(from + 2 * kLanes),
            load_vector(from + 3 * kLanes)};
  }
  void store(Number* to) const {
    store_vector(a, to), store_vector(b, to + kLanes);
    store_vector(c, to + 2 * kLanes), store_vector(d, to + 3 * kLanes);
  }

  Number operator[](int i) const;  // declared for its type alone

  Block& operator+=(const Block& other) {
    a += other.a, b += other.b, c += other.c, d += other.d;
    return *this;
  }
  friend Block operator+(const Block& left, const Block& right) {
    return {left.a + right.a, left.b + right.b, left.c + right.c, left.d + right.d};
  }
  friend Block operator*(const Block& block, Number factor) {
    return {block.a * factor, block.b * factor, block.c * factor, block.d * factor};
  }
};

// The passes of a rule with compiler vectors.
template <class Target, class Rule>
struct VectorPasses {
  using Value = typename Rule::Value;
  using Number = typename Rule::Row;  // of a line
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;
  static constexpr int kLanes = VectorOf<Target, Sum>::kLanes;
  using RowBlock = Block<Row, kLanes>;
  using SumBlock = Block<Sum, kLanes>;
  static constexpr int kBlock = RowBlock::kValues;
  static constexpr int kRowElements = 1;  // per value of a kept row

  Rule rule;
  Window window;
  int group;

  VectorPasses(const Rule& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {}

  void horizontal(const Number* line, Row* row, int count) {
    for (int v = 0; v < count; v += kBlock) {
      const auto at = [&](int i) { return RowBlock::load(line + v + i * group); };
      rule.template pass<RowBlock>(1, window.width, at).store(row + v);
    }
  }

  void vertical(const Row* const* rows, const ValueIndex& index, Value* out, int count) {
    for (int v = 0; v < count; v += kBlock) {
      const auto at = [&](int i) { return SumBlock::load(rows[i] + v); };
      Sum sums[kBlock];
      rule.template pass<SumBlock>(0, window.height, at).store(sums);
      for (int i = 0; i < kBlock; ++i) out[v + i] = rule.finish(sums[i], index.of(v + i));
    }
  }
};

// Values of a strip: as many as keep its rows within kCacheBytes.
template <class Passes>
int strip_width(int rows) {
  const int64_t bytes = int64_t{rows} * Passes::kRowElements * sizeof(typename Passes::Row);
  const int64_t fitting = kCacheBytes / bytes / kMinStripValues * kMinStripValues;
  return static_cast<int>(std::clamp<int64_t>(fitting, kMinStripValues, kStripValues));
}

// Adds the last row of the window and subtracts the first.
template <class Passes, class T>
void run_strip(Passes& passes, const Plane<const T>& source, const Plane<T>& output,
               const Strip& strip, const ValueIndex& index, Border border) {
  using Row = typename Passes::Row;
  const Window window = passes.window;
  const int margin = window.before() * source.group;
  const int line_values = strip.count + (window.width - 1) * source.group;
  // Vectors read past the last value, up to a whole strip.
  std::vector<typename Passes::Number> line(line_values + kStripValues);
  const int padded_count = (strip.count + kMinStripValues - 1) / kMinStripValues * kMinStripValues;
  RowRing<Row> rows(window.height, size_t{Passes::kRowElements} * padded_count);
  std::vector<T> out(kStripValues);
  for (int number = strip.top; number < strip.bottom + window.height - 1; ++number) {
    fill_line(source, number - window.above(), strip.first - margin, line_values, border,
              line.data());
    passes.horizontal(line.data(), rows.next(), strip.count);
    const int y = number - (window.height - 1);
    if (y < strip.top) continue;
    passes.vertical(rows.oldest_first(), index, out.data(), strip.count);
    store_values(output, y, strip.first, strip.count, out.data());
  }
}

// Integer taps: leading and trailing zeros of an axis are trimmed.
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
  int tallest = 1;
  for (int64_t n = 0; n < output.count; ++n)
    tallest = std::max(tallest, op.window(n, output[n].height, output[n].width).height);
  const std::vector<Strip> strips =
      strips_of(output, interleaved, strip_width<Passes>(tallest), tallest);
  for_each_strip(strips, parallel, [&](const Strip& strip) {
    const Plane<const T> from = plane_of(source[strip.n], strip.channel, group);
    const Window window = trimmed(op, strip.n, op.window(strip.n, from.height, from.width));
    Passes passes(Rule(op.arguments, strip.n, window, source.channels * from.width), window, group);
    const ValueIndex index =
        interleaved ? ValueIndex{strip.first, 1}
                    : ValueIndex{strip.first * source.channels + strip.channel, source.channels};
    run_strip(passes, from, plane_of(output[strip.n], strip.channel, group), strip, index,
              op.arguments.border);
  });
}

}  // namespace
}  // namespace orbbec
