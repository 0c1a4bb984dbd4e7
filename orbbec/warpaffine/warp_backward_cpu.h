// The gradients of a warp on the CPU. Included by *_cpu.cpp of the warps.
#pragma once

#include "../executors/executor_cpu.h"
#include "warp_backward.h"

namespace orbbec {

// One strip of one image.
template <class Op>
struct BackwardStrip {
  Op op;
  Images<int64_t> sums;
  int strips_x, strips;

  ORBBEC_HD void operator()(int64_t n, int strip) const {
    using T = typename Op::Value;
    constexpr int kNumbers = Op::kNumbers;
    const Image<const T> image = op.warp.source[n];
    const Image<T> gradient = op.warp.output[n];
    const Image<int64_t> sum = sums[n];
    const auto unit = op.unit(n);
    const int left = strip % strips_x * kCellWidth, top = strip / strips_x * kStripHeight;
    const int right = smaller(left + kCellWidth, gradient.width);
    const int bottom = smaller(top + kStripHeight, gradient.height);
    double lanes[kCellPixels][kNumbers + 1] = {};
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        const auto at = op.position(image, n, y, x);
        if (at.valid) add_pixel(image, gradient, sum, y, x, at, unit);
        const int lane = y % kCellHeight * kCellWidth + x - left;
        op.add_position(image, gradient, n, y, x, at, lanes[lane]);
      }
    }
    for (int half = kCellPixels / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        for (int i = 0; i < kNumbers; ++i) lanes[lane][i] += lanes[lane + half][i];
      }
    }
    for (int i = 0; i < kNumbers; ++i) {
      op.strip_sums[(n * strips + strip) * kNumbers + i] = lanes[0][i];
    }
  }

 private:
  ORBBEC_HD void add_pixel(const Image<const typename Op::Value>& image,
                           const Image<typename Op::Value>& gradient, const Image<int64_t>& sum,
                           int y, int x, const typename Op::Position& at,
                           const Unit<typename Op::F>& unit) const {
    const ReadPixels pixels = op.read_pixels(image, at);
    const typename Op::Weights weights(at);
    for (int64_t c = 0; c < op.result.channels; ++c) {
      Op::scatter(weights, gradient.at(y, x, c), unit, [&](int r, int q, int64_t units) {
        if (units == 0 || pixels.x[q] < 0 || pixels.y[r] < 0) return;
        atomic_add(&sum.at(pixels.y[r], pixels.x[q], c), units);
      });
    }
  }
};

// Row y of the images' gradient, and once per image the gradient of its transform.
template <class Op>
struct BackwardSums {
  Op op;
  Images<int64_t> sums;
  int strips;

  ORBBEC_HD void operator()(int64_t n, int y) const {
    if (y == 0) {
      for (int i = 0; i < Op::kNumbers; ++i) op.sum_strips(n, strips, i);
    }
    const Image<typename Op::Value> result = op.result[n];
    const Image<int64_t> sum = sums[n];
    const auto unit = op.unit(n);
    for (int64_t c = 0; y < result.height && c < op.result.channels; ++c) {
      for (int x = 0; x < result.width; ++x) {
        result.at(y, x, c) = unit.value(sum.at(y, x, c));
      }
    }
  }
};

template <template <class> class Transform>
void run_backward_cpu(const WarpBackwardArguments& a, const ParallelFor& parallel) {
  dispatch_backward<Transform>(a, [&](const auto& op) {
    using Op = std::decay_t<decltype(op)>;
    AnyImages any = a.result;
    any.data = a.sums;
    const Images<int64_t> sums(any);
    const int64_t channels = any.channels;
    for_each_item_cpu(BackwardStrip<Op>{op, sums, a.strips_x(), a.strips()}, any.count, a.strips(),
                      kCellWidth * kStripHeight * channels, parallel);
    for_each_item_cpu(BackwardSums<Op>{op, sums, a.strips()}, any.count, larger(any.height, 1),
                      any.width * channels, parallel);
  });
}

}  // namespace orbbec
