// Runs a functor over the pixels of a batch on CPU threads. Included by *_cpu.cpp.
#pragma once

#include <functional>

#include "image.h"

namespace orbbec {

// Calls the body on ranges that cover [0, count), on several threads where that pays; given by the binding.
using RangeBody = std::function<void(int64_t begin, int64_t end)>;
using ParallelFor = std::function<void(int64_t count, int64_t grain, const RangeBody& body)>;

constexpr int64_t kPixelsPerTask = 16384;  // about 0.1 ms of work: below that a second thread costs more than it brings

// row(n, y) for every row of every image.
template <class Row>
void for_each_row_cpu(int64_t count, int height, int64_t pixels_per_row, const ParallelFor& parallel, const Row& row) {
  const int64_t grain = kPixelsPerTask / (pixels_per_row < 1 ? 1 : pixels_per_row) + 1;
  parallel(count * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(i / height, static_cast<int>(i % height));
  });
}

// op(n, y, x) for every pixel of `shape`.
template <class Op>
void for_each_pixel_cpu(const Op& op, const AnyImages& shape, const ParallelFor& parallel) {
  for_each_row_cpu(shape.count, shape.height, shape.width, parallel, [&](int64_t n, int y) {
    for (int x = 0; x < shape.width; ++x) op(n, y, x);
  });
}

}  // namespace orbbec
