// median_blur: the median of a window. Included by median_strips.h, median_cuda.cu and binding.cpp.
#pragma once

#include <type_traits>

#include "filter.h"

namespace orbbec {

struct MedianArguments {
  AnyImages source, output;
  DType dtype;
  KernelSizes sizes;
  int longest;  // side of the largest kernel
};

// Integer keys in the order of the pixels; NaN sorts above infinity, -0 below 0.
template <class T>
using Key = WordOf<T>;

template <class T>
ORBBEC_HD Key<T> key_of(T value) {
  Key<T> bits;
  memcpy(&bits, &value, sizeof(bits));
  if constexpr (std::is_integral_v<T>) return bits;
  constexpr Key<T> kSign = Key<T>(1) << (8 * sizeof(T) - 1);
  return (bits & kSign) != 0 ? static_cast<Key<T>>(~bits) : static_cast<Key<T>>(bits | kSign);
}

template <class T>
ORBBEC_HD T value_of(Key<T> key) {
  if constexpr (!std::is_integral_v<T>) {
    constexpr Key<T> kSign = Key<T>(1) << (8 * sizeof(T) - 1);
    key = (key & kSign) != 0 ? static_cast<Key<T>>(key ^ kSign) : static_cast<Key<T>>(~key);
  }
  T value;
  memcpy(&value, &key, sizeof(value));
  return value;
}

// V is a number or a vector of numbers.
template <class V>
ORBBEC_HD void sort_two(V& low, V& high) {
  const V a = low, b = high;
  low = a < b ? a : b;
  high = a < b ? b : a;
}

// Moves the minimum of the first kLeft values to the front and the maximum to the end, drops both,
// takes in one more value, and repeats until the median is left. Among half of all values plus two,
// neither the minimum nor the maximum can be the median.
template <int kArea, int kLeft = kArea / 2 + 2, class V>
ORBBEC_HD V median_of(V* values, int next = kArea / 2 + 2) {
#pragma unroll
  for (int i = 0; i < kLeft / 2; ++i) sort_two(values[i], values[kLeft - 1 - i]);
#pragma unroll
  for (int i = 1; i <= (kLeft - 1) / 2; ++i) sort_two(values[0], values[i]);
#pragma unroll
  for (int i = kLeft / 2; i < kLeft - 1; ++i) sort_two(values[i], values[kLeft - 1]);
  if constexpr (kLeft == 3) {
    return values[1];
  } else {
    values[0] = values[next];
    return median_of<kArea, kLeft - 1>(values, next + 1);
  }
}

// Borders replicate the nearest pixel.
template <class T>
struct Median {
  using Value = T;

  MedianArguments arguments;
  Images<const T> source;
  Images<T> output;

  ORBBEC_HD Window window(int64_t n) const {
    return {arguments.sizes.of(n, 0), arguments.sizes.of(n, 1)};
  }

  ORBBEC_HD static Key<T> key_at(const Image<const T>& image, int y, int x, int64_t c) {
    return key_of<T>(image.at(border_index(y, image.height, Border::kReplicate),
                              border_index(x, image.width, Border::kReplicate), c));
  }

  template <int kSide>
  ORBBEC_HD static Key<T> by_sorting(const Image<const T>& image, int y, int x, int64_t c) {
    Key<T> keys[kSide * kSide];
#pragma unroll
    for (int i = 0; i < kSide * kSide; ++i) {
      keys[i] = key_at(image, y + i / kSide - kSide / 2, x + i % kSide - kSide / 2, c);
    }
    return median_of<kSide * kSide>(keys);
  }

  // Bit by bit: the greatest key that at most half of the window is below. `key(i, j)` is one of
  // it.
  template <class KeyAt>
  ORBBEC_HD static Key<T> by_counting(Window window, const KeyAt& key) {
    const int64_t half = int64_t{window.height} * window.width / 2;
    Key<T> median = 0;
    ORBBEC_ROLLED
    for (int bit = 8 * sizeof(T) - 1; bit >= 0; --bit) {
      const Key<T> candidate = static_cast<Key<T>>(median | Key<T>(1) << bit);
      int64_t below = 0;
      ORBBEC_ROLLED
      for (int i = 0; i < window.height; ++i) {
        int of_row = 0;
        ORBBEC_ROLLED
        for (int j = 0; j < window.width; ++j) of_row += key(i, j) < candidate;
        below += of_row;
      }
      if (below <= half) median = candidate;
    }
    return median;
  }

  ORBBEC_HD Key<T> by_counting(const Image<const T>& image, Window window, int y, int x,
                               int64_t c) const {
    return by_counting(window, [&](int i, int j) {
      return key_at(image, y + i - window.above(), x + j - window.before(), c);
    });
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x, int64_t c) const {
    const Image<const T> image = source[n];
    const Window around = window(n);
    Key<T> key;
    if (around.height == 3 && around.width == 3) {
      key = by_sorting<3>(image, y, x, c);
    } else if (around.height == 5 && around.width == 5) {
      key = by_sorting<5>(image, y, x, c);
    } else {
      key = by_counting(image, around, y, x, c);
    }
    output[n].at(y, x, c) = value_of<T>(key);
  }
};

}  // namespace orbbec
