// median_blur on the CPU, strip by strip of a plane: small windows by vector sorting networks,
// larger ones by a sliding histogram (bytes) or by counting. Compiled once per target; `Target`
// keeps the copies apart.
#pragma once

#include "median_rows.h"
#include "planes.h"
#include "targets.h"

namespace orbbec {
namespace {

constexpr int kMedianStrip = 2048;  // values: a longer row costs its networks the L1 cache

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
struct MedianStrip {
  using K = Key<T>;
  static constexpr int kLanes = VectorOf<Target, K>::kLanes;
  using Keys = typename VectorOf<Target, K>::Type;

  const Median<T>& op;
  const Strip& strip;
  int group;
  Window window;

  MedianStrip(const Median<T>& op, const Strip& strip, int group)
      : op(op), strip(strip), group(group), window(op.window(strip.n)) {}

  // Networks that slide down, one for each vector of a row; lane by lane, the values of a window's
  // row are `group` apart.
  template <int kSide>
  void run_networks(const Plane<const T>& source, const Plane<T>& output) const {
    // std::vector allocates for the alignment of baseline vectors unless the type states its own.
    struct alignas(Target::kVectorBytes) Network : SlidingMedian<Keys, kSide> {};
    std::vector<Network> networks((strip.count + kLanes - 1) / kLanes);
    const size_t length = networks.size() * kLanes;
    const int margin = window.before() * group;
    RowRing<K> lines(kSide - 1, length + 2 * margin);
    std::vector<K> medians(2 * length);
    int row = strip.top - window.above();
    const LineReader<T> reader(source, strip.first - margin, strip.count + 2 * margin,
                               Border::kReplicate);
    const auto read_row = [&] { read_keys(reader, row++, lines.next()); };
    const auto load_row = [&](int line, size_t block, Keys(&keys)[kSide]) {
      const K* from = lines.oldest_first()[line] + block * kLanes;
      for (int i = 0; i < kSide; ++i, from += group) keys[i] = load_keys(from);
    };
    for (int i = 0; i < kSide - 1; ++i) read_row();
    for (size_t b = 0; b < networks.size(); ++b) {
      int line = 0;
      networks[b].start([&](Keys(&keys)[kSide]) { load_row(line++, b, keys); });
    }
    for (int y = strip.top; y < strip.bottom; y += 2) {
      read_row(), read_row();
      for (size_t b = 0; b < networks.size(); ++b) {
        Keys first[kSide], second[kSide], upper, below;
        load_row(kSide - 3, b, first), load_row(kSide - 2, b, second);
        networks[b].next(first, second, upper, below);
        __builtin_memcpy(medians.data() + b * kLanes, &upper, sizeof(Keys));
        __builtin_memcpy(medians.data() + length + b * kLanes, &below, sizeof(Keys));
      }
      store_keys(output, y, medians.data());
      if (y + 1 < strip.bottom) store_keys(output, y + 1, medians.data() + length);
    }
  }

  static Keys load_keys(const K* from) {
    Keys keys;
    __builtin_memcpy(&keys, from, sizeof(keys));
    return keys;
  }

  static void read_keys(const LineReader<T>& reader, int y, K* keys) {
    reader.read(y, keys, [](T value) { return key_of<T>(value); });
  }

  void store_keys(const Plane<T>& output, int y, const K* keys) const {
    if constexpr (std::is_integral_v<T>) {
      store_values(output, y, strip.first, strip.count, keys);
    } else {
      T values[kMedianStrip];
      for (int i = 0; i < strip.count; ++i) values[i] = value_of<T>(keys[i]);
      store_values(output, y, strip.first, strip.count, values);
    }
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

  void slide_histograms(const Plane<const T>& source, const Plane<T>& output) const {
    const int margin = window.before() * group;
    const int used = strip.count + (window.width - 1) * group;
    RowRing<K> lines(window.height, used);
    const LineReader<T> reader(source, strip.first - margin, used, Border::kReplicate);
    K medians[kMedianStrip];
    for (int number = strip.top; number < strip.bottom + window.height - 1; ++number) {
      read_keys(reader, number - window.above(), lines.next());
      const int y = number - (window.height - 1);
      if (y < strip.top) continue;
      slide_row(lines.oldest_first(), medians);
      store_keys(output, y, medians);
    }
  }

  void run() const {
    const Plane<const T> source = plane_of(op.source[strip.n], strip.channel, group);
    const Plane<T> output = plane_of(op.output[strip.n], strip.channel, group);
    if (window.height == 3 && window.width == 3) return run_networks<3>(source, output);
    if (window.height == 5 && window.width == 5) return run_networks<5>(source, output);
    if constexpr (sizeof(K) == 1) return slide_histograms(source, output);
    for (int y = strip.top; y < strip.bottom; ++y) {
      for (int64_t v = strip.first; v < strip.first + strip.count; ++v) {
        op(strip.n, y, static_cast<int>(v / group), strip.channel + v % group);
      }
    }
  }
};

template <class Target, class T>
void run_median(const Median<T>& op, const ParallelFor& parallel) {
  const bool interleaved = is_interleaved(op.source) && is_interleaved(op.output);
  const int group = interleaved ? static_cast<int>(op.source.channels) : 1;
  const std::vector<Strip> strips =
      strips_of(op.output, interleaved, kMedianStrip, op.arguments.longest);
  for_each_strip(strips, parallel,
                 [&](const Strip& strip) { MedianStrip<Target, T>(op, strip, group).run(); });
}

template <class Target>
void run_median(const MedianArguments& arguments, const ParallelFor& parallel) {
  dispatch_pixels<Median>(arguments, [&](const auto& op) { run_median<Target>(op, parallel); });
}

}  // namespace
}  // namespace orbbec
