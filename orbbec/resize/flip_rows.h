// Flips rows horizontally in place. Included by resize_cpu.cpp, and by resize_avx2.cpp under its
// target; `Target` keeps the copies apart.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "../core/image.h"
#include "../executors/simd/interleave3.h"

namespace orbbec {

template <class Target>
class FlipRows {
 public:
  // Rows [begin, end) of image n with values of `value_bytes` bytes.
  static void run(const AnyImages& images, int value_bytes, int64_t n, int begin, int end) {
    if (value_bytes == 1) return flip<uint8_t>(images, n, begin, end);
    if (value_bytes == 2) return flip<uint16_t>(images, n, begin, end);
    if (value_bytes == 4) return flip<uint32_t>(images, n, begin, end);
    flip<uint64_t>(images, n, begin, end);
  }

 private:
  template <class T>
  static void flip(const AnyImages& images, int64_t n, int begin, int end) {
    const Image<T> image = Images<T>(images)[n];
    const bool is_rgb = images.channels == 3 && image.stride_x == 3 && image.stride_c == 1;
    if constexpr (sizeof(T) == 1) {
      if (is_rgb) return flip_rgb(image, begin, end);
    }
    for (int y = begin; y < end; ++y) {
      for (int64_t c = 0; c < images.channels; ++c) {
        T* const row = &image.at(y, 0, c);
        for (int a = 0, b = image.width - 1; a < b; ++a, --b)
          std::swap(row[a * image.stride_x], row[b * image.stride_x]);
      }
    }
  }

  static void flip_rgb(const Image<uint8_t>& image, int begin, int end) {
    std::vector<uint8_t> reversed(3 * static_cast<size_t>(image.width));
    for (int y = begin; y < end; ++y) {
      Interleave3<Target>::reverse(&image.at(y, image.width - 1, 0), reversed.data(), image.width);
      memcpy(&image.at(y, 0, 0), reversed.data(), reversed.size());
    }
  }
};

}  // namespace orbbec
