// median_blur on the CPU, strip by strip of a plane: small windows by vector sorting networks,
// larger ones by a sliding histogram (bytes) or by counting. Compiled once per target; `Target`
// keeps the copies apart.
#pragma once

#include "median.h"
#include "planes.h"

namespace orbbec {
namespace {

constexpr int kMedianStrip = 1024;
// A strip, one pixel on either side, and what vectors read past them.
constexpr int kSortedColumns = kMedianStrip + 2 * static_cast<int>(kMaxInterleaved) + 64;

// Counts of each byte value in a window, and of each run of 16 values.
struct Histogram {
  int32_t coarse[16] = {}, fine[256] = {};

  void add(uint8_t value, int times) {
    coarse[value >> 4] += times;
    fine[value] += times;
  }
  // The value at `rank`.
  uint8_t at_rank(int32_t rank) const {
    int group = 0;
    while (rank >= coarse[group]) rank -= coarse[group++];
    int value = 16 * group;
    while (rank >= fine[value]) rank -= fine[value++];
    return static_cast<uint8_t>(value);
  }
};

template <class Target, class T>
struct StripMedian {
  using K = Key<T>;
  static constexpr int kLanes = 64 / sizeof(K);
  typedef K Keys __attribute__((vector_size(64)));

  const Median<T>& op;
  const Strip& strip;
  int group;
  Window window;

  StripMedian(const Median<T>& op, const Strip& strip, int group)
      : op(op), strip(strip), group(group), window(op.window(strip.n)) {}

  static Keys load_keys(const K* from) {
    Keys keys;
    __builtin_memcpy(&keys, from, sizeof(keys));
    return keys;
  }

  // Each sorted column serves three windows. The median of nine is the median of three values: the
  // maximum of the columns' minima, the median of their medians and the minimum of their maxima.
  void sort_columns_of_3(const K* const* lines, K* out) const {
    K sorted[3][kSortedColumns];
    for (int v = 0; v < strip.count + 2 * group; v += kLanes) {
      Keys keys[3];
      for (int i = 0; i < 3; ++i) keys[i] = load_keys(lines[i] + v);
      sort_two(keys[0], keys[1]);
      sort_two(keys[1], keys[2]);
      sort_two(keys[0], keys[1]);
      for (int i = 0; i < 3; ++i) __builtin_memcpy(sorted[i] + v, &keys[i], sizeof(Keys));
    }
    for (int v = 0; v < strip.count; v += kLanes) {
      const auto column = [&](int rank, int i) { return load_keys(sorted[rank] + v + i * group); };
      Keys least = column(0, 0), greatest = column(2, 0);
      for (int i = 1; i < 3; ++i) {
        least = least > column(0, i) ? least : column(0, i);
        greatest = greatest < column(2, i) ? greatest : column(2, i);
      }
      const Keys median = middle(least, middle(column(1, 0), column(1, 1), column(1, 2)), greatest);
      __builtin_memcpy(out + v, &median, sizeof(Keys));
    }
  }

  void sort_windows_of_5(const K* const* lines, K* out) const {
    for (int v = 0; v < strip.count; v += kLanes) {
      Keys keys[25];
      for (int i = 0; i < 25; ++i) keys[i] = load_keys(lines[i / 5] + v + i % 5 * group);
      const Keys median = median_of<25>(keys);
      __builtin_memcpy(out + v, &median, sizeof(Keys));
    }
  }

  static Keys middle(Keys a, Keys b, Keys c) {
    sort_two(a, b);
    b = b < c ? b : c;
    return a > b ? a : b;
  }

  void slide_row(const K* const* lines, K* out) const {
    const int32_t rank = window.height * window.width / 2;
    const auto add_column = [&](Histogram& histogram, int v, int times) {
      for (int i = 0; i < window.height; ++i) {
        histogram.add(static_cast<uint8_t>(lines[i][v]), times);
      }
    };
    for (int lane = 0; lane < group && lane < strip.count; ++lane) {
      Histogram histogram;
      for (int j = 0; j < window.width; ++j) add_column(histogram, lane + j * group, 1);
      for (int v = lane; v < strip.count; v += group) {
        out[v] = histogram.at_rank(rank);
        if (v + group >= strip.count) break;
        add_column(histogram, v, -1);
        add_column(histogram, v + window.width * group, 1);
      }
    }
  }

  void median_row(const K* const* lines, K* out) const {
    if (window.height == 3 && window.width == 3) return sort_columns_of_3(lines, out);
    if (window.height == 5 && window.width == 5) return sort_windows_of_5(lines, out);
    if constexpr (sizeof(K) == 1) slide_row(lines, out);
  }

  bool goes_by_lines() const {
    const bool small = window.height == window.width && (window.height == 3 || window.height == 5);
    return small || sizeof(K) == 1;
  }

  void run() const {
    const Image<T> target = op.output[strip.n];
    const Plane<T> output = plane_of(target, strip.channel, group);
    if (!goes_by_lines()) {
      for (int y = 0; y < target.height; ++y) {
        for (int64_t v = strip.first; v < strip.first + strip.count; ++v) {
          op(strip.n, y, static_cast<int>(v / group), strip.channel + v % group);
        }
      }
      return;
    }
    run_lines(plane_of(op.source[strip.n], strip.channel, group), output);
  }

  void run_lines(const Plane<const T>& source, const Plane<T>& output) const {
    const int margin = window.before() * group;
    const int used = strip.count + (window.width - 1) * group;
    const size_t length = used + kMedianStrip;
    RowRing<K> lines(window.height, length);
    std::vector<K> keys(kMedianStrip);
    std::vector<T> out(std::is_integral_v<T> ? 0 : kMedianStrip);
    for (int number = 0; number < source.height + window.height - 1; ++number) {
      fill_line(source, number - window.above(), strip.first - margin, used, Border::kReplicate,
                lines.next(), [](T value) { return key_of<T>(value); });
      const int y = number - (window.height - 1);
      if (y < 0) continue;
      median_row(lines.oldest_first(), keys.data());
      if constexpr (std::is_integral_v<T>) {
        store_values(output, y, strip.first, strip.count, keys.data());
      } else {
        for (int i = 0; i < strip.count; ++i) out[i] = value_of<T>(keys[i]);
        store_values(output, y, strip.first, strip.count, out.data());
      }
    }
  }
};

template <class Target, class T>
void run_median(const Median<T>& op, const ParallelFor& parallel) {
  const bool interleaved = is_interleaved(op.source) && is_interleaved(op.output);
  const int group = interleaved ? static_cast<int>(op.source.channels) : 1;
  const std::vector<Strip> strips = strips_of(op.output, interleaved, kMedianStrip);
  for_each_strip(op.output, strips, parallel,
                 [&](const Strip& strip) { StripMedian<Target, T>(op, strip, group).run(); });
}

template <class Target>
void run_median(const MedianArguments& arguments, const ParallelFor& parallel) {
  dispatch_pixels<Median>(arguments, [&](const auto& op) {
    run_median<Target>(op, parallel);
    return 0;
  });
}

}  // namespace
}  // namespace orbbec
