// Strips of planes on the CPU. Included by strips.h, filter_strips.h and median_strips.h.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "../executors/float_dispatch_cpu.h"
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

// Reads values [first, first + count) of rows of a plane and its border; a constant border is 0.
// What the values outside the plane repeat is found once for all rows.
template <class T>
class LineReader {
 public:
  LineReader(const Plane<const T>& plane, int64_t first, int64_t count, Border border)
      : plane_(plane), border_(border), first_(first), last_(first + count) {
    begin_ = std::clamp<int64_t>(0, first_, last_);
    end_ = std::clamp<int64_t>(plane.values(), begin_, last_);
    for (int64_t v = first_; v < begin_; ++v) outside_.push_back(repeated(v));
    for (int64_t v = end_; v < last_; ++v) outside_.push_back(repeated(v));
  }

  // Row y, its values converted by `number_of`.
  template <class Number, class NumberOf>
  void read(int y, Number* line, const NumberOf& number_of) const {
    const int row = index_or_outside(y, plane_.height, border_);
    const int64_t before = begin_ - first_, length = end_ - begin_, after = last_ - end_;
    if (row < 0) {
      std::fill_n(line, before + length + after, Number(0));
      return;
    }
    const int64_t step = plane_.stride_v;
    const T *const from = plane_.at(row, 0), *const inside = plane_.at(row, begin_);
    const auto copy_outside = [&](const int64_t* values, int64_t count, Number* to) {
      for (int64_t i = 0; i < count; ++i)
        to[i] = values[i] < 0 ? Number(0) : number_of(from[values[i] * step]);
    };
    prefetch_row(plane_, y + kPrefetchRows, begin_, length);
    copy_outside(outside_.data(), before, line);
    line += before;
    if (step == 1) {
      for (int64_t i = 0; i < length; ++i) line[i] = number_of(inside[i]);
    } else {
      for (int64_t i = 0; i < length; ++i) line[i] = number_of(inside[i * step]);
    }
    copy_outside(outside_.data() + before, after, line + length);
  }

  template <class Number>
  void read(int y, Number* line) const {
    read(y, line, [](T value) {
      if constexpr (std::is_integral_v<T>) return static_cast<Number>(value);
      return static_cast<Number>(load<T>(value));
    });
  }

 private:
  // The value inside that value v outside repeats; -1: none.
  int64_t repeated(int64_t v) const {
    const int64_t group = plane_.group, pixel = v >= 0 ? v / group : -1 - (-1 - v) / group;
    const int x = index_or_outside(static_cast<int>(pixel), plane_.width, border_);
    return x < 0 ? -1 : (x - pixel) * group + v;
  }

  Plane<const T> plane_;
  Border border_;
  int64_t first_, begin_, end_, last_;  // of the values; those from begin_ to end_ are inside
  std::vector<int64_t> outside_;
};

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

// The latest rows: each new row replaces the oldest.
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
