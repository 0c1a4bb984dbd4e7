// filter2d on the CPU, strip by strip of a plane: the rows of a window are kept as numbers.
// Compiled once per target; `Target` keeps the copies apart.
#pragma once

#include "filter.h"
#include "planes.h"

namespace orbbec {
namespace {

constexpr int kFilterStrip = 256;
constexpr int kFilterRows = 2;  // summed together: what is loaded serves both

// A tap of the lines that neighboring rows of the output read; factor 0 for a row without it.
template <class F>
struct FilterTap {
  int line, offset;  // offset: in values, from the start of the line
  F factors[kFilterRows];
};

// Sums of neighbors in a row: taps in order, each fused into the sum.
template <class F>
struct ArraySums {
  using Values = const F*;
  static constexpr int kLanes = 64;
  F sums[kLanes] = {};

  static Values load(const F* from) { return from; }
  void add(F factor, Values from) {
    for (int i = 0; i < kLanes; ++i) sums[i] = fused_multiply_add(factor, from[i], sums[i]);
  }
  template <class T>
  void store_to(T* out) const {
    for (int i = 0; i < kLanes; ++i) out[i] = store<T>(sums[i]);
  }
};

// The same with vectors of `Simd`, few enough that those of all rows stay in registers.
template <class Simd>
struct VectorSums {
  static constexpr int kVectors = 4, kLanes = kVectors * Simd::kLanes;
  struct Values {
    typename Simd::Float vectors[kVectors];
  };
  typename Simd::Float sums[kVectors] = {};

  static Values load(const float* from) {
    Values values;
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) values.vectors[i] = Simd::load(from + i * Simd::kLanes);
    return values;
  }
  void add(float factor, const Values& values) {
    const auto factors = Simd::all_lanes(factor);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i)
      sums[i] = Simd::fused_multiply_add(factors, values.vectors[i], sums[i]);
  }
  template <class T>
  void store_to(T* out) const {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) store_vector(sums[i], out + i * Simd::kLanes);
  }

 private:
  static void store_vector(typename Simd::Float sum, uint8_t* out) {
    auto whole = Simd::round(sum);
    whole = whole < 0 ? 0 : whole;
    Simd::store_bytes_1(out, whole > 255 ? 255 : whole);
  }
  static void store_vector(typename Simd::Float sum, float* out) { Simd::store(out, sum); }
  template <class T>
  static void store_vector(typename Simd::Float sum, T* out) {
    for (int i = 0; i < Simd::kLanes; ++i) out[i] = store<T>(sum[i]);
  }
};

template <class Target, class F>
struct SumsOf {
  using Type = ArraySums<F>;
};

template <class Target, class T>
struct StripFilter {
  using F = Compute<T>;

  using Sums = typename SumsOf<Target, F>::Type;
  using Rows = T[kFilterRows][kFilterStrip];

  std::vector<FilterTap<F>> taps;
  Window window;

  StripFilter(const Filter2d<T>& op, int64_t n, int group) : window(op.arguments.window) {
    const F* const kernel = op.kernel(n);
    for (int i = 0; i < lines(); ++i) {
      for (int j = 0; j < window.width; ++j) {
        FilterTap<F> tap{.line = i, .offset = j * group, .factors = {}};
        for (int r = std::max(0, i + 1 - window.height); r <= std::min(i, kFilterRows - 1); ++r)
          tap.factors[r] = kernel[int64_t{i - r} * window.width + j];
        if (tap.factors[0] != 0 || tap.factors[1] != 0) taps.push_back(tap);
      }
    }
  }

  // That the rows read.
  int lines() const { return window.height + kFilterRows - 1; }

  void sum_rows(const F* const* from, Rows& out, int count) const {
    for (int v = 0; v < count; v += Sums::kLanes) {
      Sums sums[kFilterRows];
      for (const FilterTap<F>& tap : taps) {
        const auto values = Sums::load(from[tap.line] + tap.offset + v);
#pragma GCC unroll 2
        for (int r = 0; r < kFilterRows; ++r) {
          if (tap.factors[r] != 0) sums[r].add(tap.factors[r], values);
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < kFilterRows; ++r) sums[r].store_to(out[r] + v);
    }
  }

  void run(const Plane<const T>& source, const Plane<T>& output, const Strip& strip,
           Border border) const {
    const int margin = window.before() * source.group;
    const int used = strip.count + (window.width - 1) * source.group;
    RowRing<F> ring(lines(), used + kFilterStrip);
    const LineReader<T> reader(source, strip.first - margin, used, border);
    Rows out;
    int next = strip.top;
    for (int y = strip.top; y < strip.bottom; y += kFilterRows) {
      for (; next < y + lines(); ++next) reader.read(next - window.above(), ring.next());
      sum_rows(ring.oldest_first(), out, strip.count);
      for (int r = 0; r < std::min(kFilterRows, strip.bottom - y); ++r)
        store_values(output, y + r, strip.first, strip.count, out[r]);
    }
  }
};

template <class Target, class T>
void run_filter(const Filter2d<T>& op, const ParallelFor& parallel) {
  const bool interleaved = is_interleaved(op.source) && is_interleaved(op.output);
  const int group = interleaved ? static_cast<int>(op.source.channels) : 1;
  const std::vector<Strip> strips =
      strips_of(op.output, interleaved, kFilterStrip, op.arguments.window.height);
  for_each_strip(strips, parallel, [&](const Strip& strip) {
    StripFilter<Target, T>(op, strip.n, group)
        .run(plane_of(op.source[strip.n], strip.channel, group),
             plane_of(op.output[strip.n], strip.channel, group), strip, op.arguments.border);
  });
}

template <class Target>
void run_filter(const FilterArguments& arguments, const ParallelFor& parallel) {
  dispatch_pixels<Filter2d>(
      arguments, in_floats_only([&](const auto& op) { run_filter<Target>(op, parallel); }));
}

}  // namespace
}  // namespace orbbec
