// filter2d on the CPU, strip by strip of a plane: the rows of a window are kept as numbers.
// Compiled once per target; `Target` keeps the copies apart.
#pragma once

#include "filter.h"
#include "planes.h"

namespace orbbec {
namespace {

constexpr int kFilterStrip = 256;
constexpr int kFilterLanes = 64;  // sums that stay in registers

struct FilterTap {
  int row, offset;  // offset: in values, from the start of the line
};

// The sums of kFilterLanes values: taps in order, each fused into the sum.
template <class F>
struct ArraySums {
  F sums[kFilterLanes] = {};

  void add(F factor, const F* from) {
    for (int i = 0; i < kFilterLanes; ++i) sums[i] = fused_multiply_add(factor, from[i], sums[i]);
  }
  template <class T>
  void store_to(T* out) const {
    for (int i = 0; i < kFilterLanes; ++i) out[i] = store<T>(sums[i]);
  }
};

// The same with vectors of `Simd`.
template <class Simd>
struct VectorSums {
  static constexpr int kLanes = Simd::kLanes, kVectors = kFilterLanes / kLanes;
  typename Simd::Float sums[kVectors] = {};

  void add(float factor, const float* from) {
    const auto factors = Simd::all_lanes(factor);
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i)
      sums[i] = Simd::fused_multiply_add(factors, Simd::load(from + i * kLanes), sums[i]);
  }
  template <class T>
  void store_to(T* out) const {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) store_vector(sums[i], out + i * kLanes);
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
    for (int i = 0; i < kLanes; ++i) out[i] = store<T>(sum[i]);
  }
};

template <class Target, class F>
struct SumsOf {
  using Type = ArraySums<F>;
};

template <class Target, class T>
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
      typename SumsOf<Target, F>::Type sums;
      for (size_t t = 0; t < taps.size(); ++t)
        sums.add(factors[t], lines[taps[t].row] + taps[t].offset + v);
      sums.store_to(out + v);
    }
  }

  void run(const Plane<const T>& source, const Plane<T>& output, const Strip& strip,
           Border border) const {
    const int margin = window.before() * source.group;
    const int used = strip.count + (window.width - 1) * source.group;
    const size_t length = used + kFilterStrip;
    RowRing<F> lines(window.height, length);
    const LineReader<T> reader(source, strip.first - margin, used, border);
    std::vector<T> out(kFilterStrip);
    for (int number = strip.top; number < strip.bottom + window.height - 1; ++number) {
      reader.read(number - window.above(), lines.next());
      const int y = number - (window.height - 1);
      if (y < strip.top) continue;
      row(lines.oldest_first(), out.data(), strip.count);
      store_values(output, y, strip.first, strip.count, out.data());
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
  dispatch_pixels<Filter2d>(arguments, [&](const auto& op) {
    run_filter<Target>(op, parallel);
    return 0;
  });
}

}  // namespace
}  // namespace orbbec
