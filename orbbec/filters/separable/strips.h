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
  // A vector of each of four rows, from column v on.
  template <class From>
  static Block load(const From* const* rows, int v) {
    return {load_vector(rows[0] + v), load_vector(rows[1] + v), load_vector(rows[2] + v),
            load_vector(rows[3] + v)};
  }
  // The rows one further up or down.
  template <class From>
  Block with_row_above(const From* from) const {
    return {load_vector(from), a, b, c};
  }
  template <class From>
  Block with_row_below(const From* from) const {
    return {b, c, d, load_vector(from)};
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
  static constexpr int kRows = 4;         // that are summed vertically together

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
    for (int v = 0; v < count; v += kLanes) {
      Sum sums[kRows][kLanes];
      sum_of_columns(rows, v).store(sums[0]);
      for (int row = 0; row < kRows; ++row) {
        Value* const to = out + row * kStripValues + v;
        for (int i = 0; i < kLanes; ++i) to[i] = rule.finish(sums[row][i], index.of(v + i));
      }
    }
  }

 private:
  // Of kRows windows. With taps, a row is loaded once for all of them at each end of the windows.
  SumBlock sum_of_columns(const Row* const* rows, int v) const {
    if constexpr (Rule::kHasTaps) {
      const Row *const *up = rows + window.height / 2, *const *down = up + kRows - 1;
      SumBlock above = SumBlock::load(up, v), below = above;
      return rule.template pass_of_pairs<SumBlock>(0, window.height, above, [&](int) {
        above = above.with_row_above(*--up + v);
        below = below.with_row_below(*++down + v);
        return above + below;
      });
    } else {
      return rule.template pass<SumBlock>(0, window.height,
                                          [&](int i) { return SumBlock::load(rows + i, v); });
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

// Reads rows by `read(y, first, count, line)`, values from `first` on, and writes them by
// `write(y, values)`. Passes::kRows rows at a time, of which the last may be below the strip.
template <class Passes, class Read, class Write>
void run_rows(Passes& passes, const Strip& strip, const ValueIndex& index, const Read& read,
              const Write& write) {
  using Row = typename Passes::Row;
  const Window window = passes.window;
  const int margin = window.before() * passes.group;
  const int line_values = strip.count + (window.width - 1) * passes.group;
  // Vectors read past the last value, up to a whole strip.
  std::vector<typename Passes::Number> line(line_values + kStripValues);
  const int padded_count = (strip.count + kMinStripValues - 1) / kMinStripValues * kMinStripValues;
  constexpr int kRows = Passes::kRows;
  RowRing<Row> rows(window.height + kRows - 1, size_t{Passes::kRowElements} * padded_count);
  std::vector<typename Passes::Value> out(kRows * kStripValues);
  const auto next_row = [&](int y) {
    read(y, strip.first - margin, line_values, line.data());
    passes.horizontal(line.data(), rows.next(), strip.count);
  };
  int below = strip.top - window.above();  // the next row to be read
  for (int i = 1; i < window.height; ++i) next_row(below++);
  for (int y = strip.top; y < strip.bottom; y += kRows) {
    for (int i = 0; i < kRows; ++i) next_row(below++);
    passes.vertical(rows.oldest_first(), index, out.data(), strip.count);
    for (int i = 0; i < std::min(kRows, strip.bottom - y); ++i)
      write(y + i, out.data() + i * kStripValues);
  }
}

template <class Passes, class T>
void run_strip(Passes& passes, const Plane<const T>& source, const Plane<T>& output,
               const Strip& strip, const ValueIndex& index, Border border) {
  run_rows(
      passes, strip, index,
      [&](int y, int64_t first, int count, typename Passes::Number* line) {
        fill_line(source, y, first, count, border, line);
      },
      [&](int y, const T* values) { store_values(output, y, strip.first, strip.count, values); });
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

// The strips of every image, for the tallest window.
template <class Passes, class Rule>
std::vector<Strip> separable_strips(const Separable<Rule>& op, bool interleaved) {
  int tallest = 1;
  for (int64_t n = 0; n < op.output.count; ++n)
    tallest = std::max(tallest, op.window(n, op.output[n].height, op.output[n].width).height);
  return strips_of(op.output, interleaved, strip_width<Passes>(tallest), tallest);
}

// Every strip of every image, by `Passes(rule, window, group)`.
template <class Passes, class Rule>
void run_separable(const Separable<Rule>& op, const ParallelFor& parallel) {
  using T = typename Rule::Value;
  const Images<const T>& source = op.source;
  const Images<T>& output = op.output;
  const bool interleaved = is_interleaved(source) && is_interleaved(output);
  const int group = interleaved ? static_cast<int>(source.channels) : 1;
  for_each_strip(separable_strips<Passes>(op, interleaved), parallel, [&](const Strip& strip) {
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
