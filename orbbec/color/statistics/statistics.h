// Mean and standard deviation of each channel, from its sums or its histogram.
#pragma once

#include <cmath>

#include "../../core/common.h"

namespace orbbec {

// Item (n, c) is channel c of image n.
struct Moments {
  static constexpr int kLevels = 256;

  const double* sums;         // [N, 2 C]: of the values, of their squares; or null
  const int64_t* histograms;  // [N, C, 256] if there are no sums
  const int64_t* layout;      // [N, 3]: offset, height, width; or null
  double pixels;              // of every image, if there is no layout
  int64_t channels;
  double *means, *deviations;  // [N, C]

  ORBBEC_HD void operator()(int64_t n, int c) const {
    const int64_t index = n * channels + c;
    double count = pixels, sum, squares;
    if (sums != nullptr) {
      sum = sums[2 * index];
      squares = sums[2 * index + 1];
      if (layout != nullptr) count = static_cast<double>(layout[3 * n + 1] * layout[3 * n + 2]);
    } else {
      add_levels(histograms + index * kLevels, count, sum, squares);
    }
    const double mean = sum / count, variance = squares / count - mean * mean;
    means[index] = mean;
    deviations[index] = sqrt(variance < 0 ? 0 : variance);
  }

  ORBBEC_HD static void add_levels(const int64_t* histogram, double& count, double& sum,
                                   double& squares) {
    int64_t all = 0, of_levels = 0, of_squares = 0;
    for (int level = 0; level < kLevels; ++level) {
      all += histogram[level];
      of_levels += histogram[level] * level;
      of_squares += histogram[level] * (level * level);
    }
    count = static_cast<double>(all);
    sum = static_cast<double>(of_levels);
    squares = static_cast<double>(of_squares);
  }
};

}  // namespace orbbec
