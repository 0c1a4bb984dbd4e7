// Runs strips of rows of images, dense or variable-size, on CPU threads. Included by *_cpu.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "executor_cpu.h"

namespace orbbec {

// strip(n, first_row) for every `rows`-th row of every image, in tasks of about kPixelsPerTask.
template <class Strip>
void for_each_strip_cpu(const AnyImages& images, int rows, const ParallelFor& parallel,
                        const Strip& strip) {
  const Images<uint8_t> sizes(images);
  std::vector<int64_t> ends(images.count);  // cumulative number of strips up to each image
  int64_t total = 0, pixels = 0;
  for (int64_t n = 0; n < images.count; ++n) {
    const int64_t height = sizes[n].height;
    total += (height + rows - 1) / rows;
    pixels += height * sizes[n].width;
    ends[n] = total;
  }
  const int64_t pixels_per_strip = total > 0 ? pixels / total : 0;
  const int64_t grain = kPixelsPerTask / std::max<int64_t>(1, pixels_per_strip) + 1;
  parallel(total, grain, [&](int64_t begin, int64_t end) {
    int64_t n = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    for (int64_t i = begin; i < end; ++i) {
      while (i >= ends[n]) ++n;
      const int64_t first = n > 0 ? ends[n - 1] : 0;
      strip(n, static_cast<int>((i - first) * rows));
    }
  });
}

}  // namespace orbbec
