// Pillow's vertical-first order on AVX2, for images whose height shrinks most: source columns are
// filtered vertically, and the resulting rows horizontally. Included by pillow_strips.h.
#pragma once

#include "tap_pairs.h"

namespace orbbec {
namespace {

// The vertically filtered rows of packed pixels, for source columns [left, right).
class ColumnSums {
 public:
  static constexpr int kBytes = 4 * PillowAvx2::kLanes;  // summed together

  ColumnSums(const Image<const uint8_t>& from, int lanes, const TapPairs& vertical, int left,
             int right)
      : from_(from),
        vertical_(vertical),
        begin_(int64_t{left} * lanes),
        end_(int64_t{right} * lanes),
        stride_(int64_t{from.width} * lanes),
        bytes_(stride_ * vertical.entries()) {
    for (int row = 0; row < vertical.entries(); ++row) {
      for (int64_t at = begin_; at < end_; at += kBytes)
        sum(row, std::min(at, end_ - kBytes), &bytes_[row * stride_]);
    }
  }

  // Whether there are enough pixels for a vector.
  static bool serves(int lanes, int left, int right) {
    return int64_t{right - left} * lanes >= kBytes;
  }

  Image<const uint8_t> image() const {
    return {.data = bytes_.data(),
            .height = vertical_.entries(),
            .width = from_.width,
            .stride_y = stride_,
            .stride_x = from_.stride_x,
            .stride_c = from_.stride_c};
  }

 private:
  void sum(int row, int64_t at, uint8_t* to) const {
    const auto read = [&](int k, PillowAvx2::Int(&pairs)[4]) {
      const int y = 2 * (vertical_.first(row) + k);
      PillowAvx2::pair(source(y) + at, source(y + 1) + at, pairs);
    };
    PillowAvx2::store(to + at, sum_pairs<0>(vertical_.count(row), vertical_.weights(row), read));
  }

  const uint8_t* source(int y) const {
    return from_.data + std::min(y, from_.height - 1) * from_.stride_y;
  }

  const Image<const uint8_t> from_;
  const TapPairs& vertical_;
  const int64_t begin_, end_, stride_;
  std::vector<uint8_t> bytes_;
};

}  // namespace
}  // namespace orbbec
