// A separable filter on the CPU, strip by strip of a plane: each row of a strip is filtered
// horizontally once; as many filtered rows as the window is high stay in cache and are summed
// vertically. Compiled once per target; `Target` keeps the copies apart.
#pragma once

#include "../planes.h"
#include "../targets.h"
#include "separable.h"
#include "vector_block.h"

namespace orbbec {
namespace {  // one copy per target

constexpr int kStripValues = 2048;
constexpr int kMinStripValues = 256;

// The position of a value in its row, counting channels: the first of a strip, and the step to the
// next.
struct ValueIndex {
  int64_t first, step;

  int64_t of(int v) const { return first + v * step; }
};

// The passes of a rule with compiler vectors. A vector has one number of each of several windows,
// and windows one number further on are summed together. The horizontal pass transposes its rows
// for that, so that no load crosses a cache line; with few lanes that costs more than it saves.
template <class Target, class Rule>
struct VectorPasses {
  using Value = typename Rule::Value;
  using Number = typename Rule::Row;  // of a line
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;
  static constexpr int kLanes = VectorOf<Target, Sum>::kLanes;
  static constexpr bool kTransposes = kLanes >= 8;
  static constexpr int kBatch = kTransposes ? kLanes : 1;  // rows of a horizontal pass
  static constexpr int kRows = 4;                          // that are summed vertically together
  static constexpr int kRowElements = 1;                   // per value of a stored row
  static constexpr bool kRowsAreAlone = true;              // no stored row depends on the previous
  // The numbers of a strip lie in the L2 cache: a number is loaded once for several windows.
  static constexpr int kCacheBytes = 256 << 10;

  Rule rule;
  Window window;
  int group;
  AlignedNumbers<Row> columns = {}, sums = {};  // of a batch

  VectorPasses(const Rule& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {}

  void horizontal(const Number* const* lines, Row* const* rows, int count) {
    if constexpr (kTransposes) return sum_transposed(lines, rows, count);
    using Sums = Block<Row, kLanes>;
    for (int v = 0; v < count; v += 4 * kLanes) {
      const auto at = [&](int i) __attribute__((always_inline)) {
        return Sums::load([&](int j) { return *lines + v + i * group + j * kLanes; }, 0);
      };
      rule.template pass<Sums>(1, window.width, at).store(*rows + v, kLanes);
    }
  }

  // kRows rows, `step` values apart.
  void vertical(const Row* const* rows, const ValueIndex& index, Value* out, int count, int step) {
    for (int v = 0; v < count; v += kLanes) {
      Sum found[kRows][kLanes];
      sum_windows<Sum>(0, window.height, [&](int i) {
        return rows[i] + v;
      }).store(found[0], kLanes);
      for (int row = 0; row < kRows; ++row) {
        Value* const to = out + row * step + v;
        for (int i = 0; i < kLanes; ++i) to[i] = rule.finish(found[row][i], index.of(v + i));
      }
    }
  }

 private:
  void sum_transposed(const Number* const* lines, Row* const* rows, int count) {
    const int step = kRows * group, windows = (count + step - 1) / step * step;
    const int numbers = windows + (window.width - 1) * group;
    Row* const column = columns.of_size(int64_t{numbers + kLanes} * kLanes);
    Row* const sum = sums.of_size(int64_t{windows + kLanes} * kLanes);
    for (int v = 0; v < numbers; v += kLanes) {
      Row* const to = column + int64_t{v} * kLanes;
      transpose([&](int i) { return lines[i] + v; }, [&](int i) { return to + i * kLanes; });
    }
    for (int first = 0; first < windows; first += step) {
      for (int v = first; v < first + group; ++v) {
        const auto at = [&](int i) { return column + int64_t{v + i * group} * kLanes; };
        sum_windows<Row>(1, window.width, at)
            .store(sum + int64_t{v} * kLanes, int64_t{group} * kLanes);
      }
    }
    for (int v = 0; v < count; v += kLanes) {
      const Row* const from = sum + int64_t{v} * kLanes;
      transpose([&](int i) { return from + i * kLanes; }, [&](int i) { return rows[i] + v; });
    }
  }

  // The sums of kRows windows, the first of which begins with the vector at `at(0)`. A vector is
  // loaded once for all of them; with taps, at each end of the windows.
  template <class Element, class At>
  ORBBEC_HD Block<Element, kLanes> sum_windows(int axis, int size, const At& at) const {
    using Sums = Block<Element, kLanes>;
    if constexpr (Rule::kHasTaps) {
      int before = size / 2, after = before + kRows - 1;
      Sums left = Sums::load(at, before), right = left;
      return rule.template pass_of_pairs<Sums>(axis, size, left, [&](int) {
        left = left.with_one_before(at(--before));
        right = right.with_one_after(at(++after));
        return left + right;
      });
    } else {
      Sums next = Sums::load(at, 0);
      return rule.template pass<Sums>(axis, size, [&](int i) {
        if (i > 0) next = next.with_one_after(at(i + kRows - 1));
        return next;
      });
    }
  }

  // A square of numbers, whose rows lie at `from(i)` and whose columns at `to(i)`.
  template <class From, class To>
  ORBBEC_HD static void transpose(const From& from, const To& to) {
    using Lanes = VectorOfLanes<Row, kLanes>;
    Square<Row, kLanes> square;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square.rows[i] = Lanes::load(from(i));
    square.transpose();
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) Lanes::store(square.rows[i], to(i));
  }
};

// Values of a strip: as many as keep its numbers within the cache.
template <class Passes>
int strip_width(int rows) {
  const int64_t numbers = int64_t{rows} * Passes::kRowElements + 3 * (Passes::kBatch - 1);
  const int64_t fitting = Passes::kCacheBytes / (numbers * sizeof(typename Passes::Row));
  return static_cast<int>(std::clamp<int64_t>(fitting / kMinStripValues * kMinStripValues,
                                              kMinStripValues, kStripValues));
}

// What the windows of a strip cover of a row, from value `first` on.
struct LineRange {
  int64_t first;
  int count;
};
inline LineRange line_range(const Strip& strip, const Window& window, int group) {
  return {strip.first - int64_t{window.before()} * group, strip.count + (window.width - 1) * group};
}

// The filtered rows of a strip. Rows beyond an image that repeat rows of it are not filtered again.
template <class Passes>
class FilteredRows {
 public:
  using Row = typename Passes::Row;

  FilteredRows(const Window& window, const Strip& strip, int height, Border border, size_t width)
      : height_(height),
        border_(border),
        repeats_(Passes::kRowsAreAlone && border != Border::kConstant && border != Border::kWrap),
        first_(strip.top - window.above()),
        rows_(window.height + Passes::kRows + Passes::kBatch - 2, Passes::kRowElements * width),
        repeated_(window.height + Passes::kRows - 1) {
    if (repeats_) first_ = std::max(first_, 0);
    next_ = first_;
  }

  // Filters until there are the rows before `end`: filter(y, rows) filters a batch from row y on.
  template <class Filter>
  void filter_until(int end, const Filter& filter) {
    if (repeats_) end = std::min(end, height_);
    while (next_ < end) {
      Row* batch[Passes::kBatch];
      for (int i = 0; i < Passes::kBatch; ++i) batch[i] = rows_.row(next_ + i - first_);
      filter(next_, batch);
      next_ += Passes::kBatch;
    }
  }

  // Row y and those that follow, as many as windows read together.
  const Row* const* from(int y) {
    const int count = static_cast<int>(repeated_.size());
    if (!repeats_ || (y >= 0 && y + count <= height_)) return rows_.from(y - first_);
    for (int i = 0; i < count; ++i) {  // rows above the first belong to windows that are not stored
      const int row = border_index(y + i, height_, border_);
      repeated_[i] = rows_.row(std::max(row, first_) - first_);
    }
    return repeated_.data();
  }

 private:
  int height_;
  Border border_;
  bool repeats_;
  int first_, next_;  // rows
  RowRing<Row> rows_;
  std::vector<const Row*> repeated_;
};

// Reads the lines of rows by `read(y, line)`, and writes rows by `write(y, values)`. The last rows
// of a batch may be below what is needed.
template <class Passes, class Read, class Write>
void run_rows(Passes& passes, const Strip& strip, const ValueIndex& index, int height,
              Border border, const Read& read, const Write& write) {
  constexpr int kRows = Passes::kRows, kBatch = Passes::kBatch;
  const Window window = passes.window;
  // Vectors read past the last value.
  RowRing<typename Passes::Number> lines(
      kBatch, line_range(strip, window, passes.group).count + kMinStripValues);
  const int padded_count = (strip.count + kMinStripValues - 1) / kMinStripValues * kMinStripValues;
  FilteredRows<Passes> rows(window, strip, height, border, padded_count);
  std::vector<typename Passes::Value> out(kRows * padded_count);
  const auto filter = [&](int y, typename Passes::Row* const* batch) {
    for (int i = 0; i < kBatch; ++i) read(y + i, lines.row(i));
    passes.horizontal(lines.from(0), batch, strip.count);
  };
  for (int y = strip.top; y < strip.bottom; y += kRows) {
    const int first = y - window.above();
    rows.filter_until(first + kRows - 1 + window.height, filter);
    passes.vertical(rows.from(first), index, out.data(), strip.count, padded_count);
    for (int i = 0; i < std::min(kRows, strip.bottom - y); ++i)
      write(y + i, out.data() + i * padded_count);
  }
}

template <class Passes, class T>
void run_strip(Passes& passes, const Plane<const T>& source, const Plane<T>& output,
               const Strip& strip, const ValueIndex& index, Border border) {
  const LineRange range = line_range(strip, passes.window, source.group);
  const LineReader<T> reader(source, range.first, range.count, border);
  run_rows(
      passes, strip, index, source.height, border,
      [&](int y, typename Passes::Number* line) { reader.read(y, line); },
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
