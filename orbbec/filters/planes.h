// Strips of planes on the CPU. Included by strips.h, filter_strips.h and median_strips.h.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "../executors/executor_cpu.h"
#include "window.h"

namespace orbbec {
namespace {  // one copy per target

// A strip of a plane: a range of values of rows [top, bottom).
struct Strip {
  int64_t n, channel, first;
  int count, top, bottom;
};

// Fewer planes than this are cut into shorter strips, for more threads. A strip reads the rows of
// its window again, so it has several times as many.
constexpr int64_t kManyPlanes = 4;
constexpr int kShortStrip = 64, kWindowsOfStrip = 8;

// All strips of a batch, each at most `width` values wide, for windows of up to `window` rows.
template <class T>
std::vector<Strip> strips_of(const Images<T>& images, bool interleaved, int64_t width, int window) {
  std::vector<Strip> strips;
  const int64_t planes = interleaved ? 1 : images.channels;
  const bool cuts = images.count * planes < kManyPlanes;
  for (int64_t n = 0; n < images.count; ++n) {
    const Image<T> image = images[n];
    const int64_t values = int64_t{image.width} * (interleaved ? images.channels : 1);
    const int rows = cuts ? std::max(kShortStrip, kWindowsOfStrip * window) : image.height;
    for (int64_t channel = 0; channel < planes; ++channel) {
      for (int top = 0; top < image.height; top += rows) {
        const int bottom = image.height - top < rows ? image.height : top + rows;
        for (int64_t first = 0; first < values; first += width) {
          const int count = static_cast<int>(std::min(width, values - first));
          strips.push_back({n, channel, first, count, top, bottom});
        }
      }
    }
  }
  return strips;
}

// work(strip) for every strip, in tasks of about kPixelsPerTask values.
template <class Work>
void for_each_strip(const std::vector<Strip>& strips, const ParallelFor& parallel,
                    const Work& work) {
  const auto count = static_cast<int64_t>(strips.size());
  int64_t values = 1;
  for (const Strip& strip : strips) values += int64_t{strip.bottom - strip.top} * strip.count;
  parallel(count, count * kPixelsPerTask / values + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(strips[i]);
  });
}

constexpr int kPrefetchRows = 4;  // far enough ahead to hide the memory latency

// Strips jump from row to row, which hardware does not foresee.
template <class T>
void prefetch_row(const Plane<T>& plane, int y, int64_t first, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  if (plane.stride_v != 1 || y < 0 || y >= plane.height) return;
  for (int64_t v = 0; v < count; v += kLine) __builtin_prefetch(plane.at(y, first + v));
}

// Values [first, first + count) of row y of a plane and its border, converted by `number_of`. A
// constant border is 0.
template <class T, class Number, class NumberOf>
void fill_line(const Plane<const T>& plane, int y, int64_t first, int count, Border border,
               Number* line, const NumberOf& number_of) {
  const int row = index_or_outside(y, plane.height, border);
  if (row < 0) {
    std::fill_n(line, count, Number(0));
    return;
  }
  const int64_t values = plane.values(), last = first + count;
  const int64_t inside = std::clamp<int64_t>(0, first, last);
  const int64_t outside = std::clamp<int64_t>(values, inside, last);
  const auto from_border = [&](int64_t begin, int64_t end) {
    int64_t pixel = begin >= 0 ? begin / plane.group : -1 - (-1 - begin) / plane.group;
    int64_t lane = begin - pixel * plane.group;
    for (int64_t v = begin; v < end; ++pixel, lane = 0) {
      const int x = index_or_outside(static_cast<int>(pixel), plane.width, border);
      const T* const from = x < 0 ? nullptr : plane.at(row, int64_t{x} * plane.group);
      for (; lane < plane.group && v < end; ++lane, ++v)
        line[v - first] = x < 0 ? Number(0) : number_of(from[lane * plane.stride_v]);
    }
  };
  from_border(first, inside);
  const T* const from = plane.at(row, inside);
  Number* const to = line + (inside - first);
  const int64_t length = outside - inside;
  prefetch_row(plane, y + kPrefetchRows, inside, length);
  if (plane.stride_v == 1) {
    for (int64_t i = 0; i < length; ++i) to[i] = number_of(from[i]);
  } else {
    for (int64_t i = 0; i < length; ++i) to[i] = number_of(from[i * plane.stride_v]);
  }
  from_border(outside, last);
}

template <class T, class Number>
void fill_line(const Plane<const T>& plane, int y, int64_t first, int count, Border border,
               Number* line) {
  fill_line(plane, y, first, count, border, line, [](T value) {
    if constexpr (std::is_integral_v<T>) return static_cast<Number>(value);
    return static_cast<Number>(load<T>(value));
  });
}

template <class T>
void store_values(const Plane<T>& plane, int y, int64_t first, int count, const T* values) {
  T* const to = plane.at(y, first);
  prefetch_row(plane, y + kPrefetchRows, first, count);
  if (plane.stride_v == 1) {
    std::copy_n(values, count, to);
  } else {
    for (int i = 0; i < count; ++i) to[i * plane.stride_v] = values[i];
  }
}

// Numbers from a cache line on: vectors that cross one are loaded at half the speed.
template <class Number>
class AlignedNumbers {
 public:
  Number* of_size(size_t count) {
    constexpr size_t kLine = 64 / sizeof(Number);
    if (numbers_.size() < count + kLine) numbers_.resize(count + kLine);
    const size_t past = reinterpret_cast<uintptr_t>(numbers_.data()) / sizeof(Number) % kLine;
    return numbers_.data() + (kLine - past) % kLine;
  }

 private:
  std::vector<Number> numbers_;
};

// Rows of which the last are kept: each new row replaces the oldest.
template <class Number>
class RowRing {
 public:
  RowRing(int height, size_t width) : height_(height), rows_(2 * height) {
    // Rows a multiple of 4 KB apart would share the sets of a cache.
    constexpr size_t kLine = 64 / sizeof(Number);
    const size_t stride = ((width + kLine - 1) / kLine | 1) * kLine;
    Number* const first = numbers_.of_size(height * stride);
    for (int i = 0; i < 2 * height; ++i) rows_[i] = first + i % height * stride;
  }

  Number* row(int i) { return rows_[i % height_]; }
  // Row i and those that follow.
  const Number* const* from(int i) const { return rows_.data() + i % height_; }

  Number* next() { return row(next_++); }
  const Number* const* oldest_first() const { return from(next_); }

 private:
  int height_, next_ = 0;
  AlignedNumbers<Number> numbers_;
  std::vector<Number*> rows_;
};

}  // namespace
}  // namespace orbbec
