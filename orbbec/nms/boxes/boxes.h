// The overlap of every box of one set with every box of another. Included by boxes_cpu.cpp,
// boxes_cuda.cu and binding.cpp.
#pragma once

#include "../../core/image.h"
#include "../box.h"
#include "../rotated_box.h"

namespace orbbec {

enum class Measure { kIou, kGeneralizedIou, kDistanceIou };

struct BoxPairsArguments {
  const void* first;   // [B, N, 4] of corners, or [B, N, 5] of rotated boxes
  const void* second;  // [B, M, 4 or 5]
  void* result;        // [B, N, M]
  int64_t batch;
  int rows, columns;  // N and M
  bool is_double;     // else float
  Measure measure;    // of corner boxes
  double epsilon;     // of kDistanceIou
  double* work;       // of rotated boxes: [kRotatedBoxNumbers, B * (N + M)]
};

// The iteration shape: B images of N rows and M columns.
inline AnyImages pairs_shape(const BoxPairsArguments& a) {
  AnyImages shape{};
  shape.count = a.batch;
  shape.height = a.rows;
  shape.width = a.columns;
  return shape;
}

// torchvision's measures, operation by operation.
template <class F, Measure kMeasure>
struct BoxPairs {
  const F* first;
  const F* second;
  F* result;
  int rows, columns;
  F epsilon;

  explicit BoxPairs(const BoxPairsArguments& a)
      : first(static_cast<const F*>(a.first)),
        second(static_cast<const F*>(a.second)),
        result(static_cast<F*>(a.result)),
        rows(a.rows),
        columns(a.columns),
        epsilon(static_cast<F>(a.epsilon)) {}

  // The length of the hull of [a1, a2] and [b1, b2].
  ORBBEC_HD static F hull_length(F a1, F a2, F b1, F b2) {
    const F length = (a2 > b2 ? a2 : b2) - (a1 < b1 ? a1 : b1);
    return length > F(0) ? length : F(0);
  }

  ORBBEC_HD static F square(F value) { return value * value; }

  ORBBEC_HD F measure(const Box<F>& a, const Box<F>& b) const {
    const F shared = shared_area(a, b);
    const F all = box_area(a) + box_area(b) - shared;
    const F iou = shared / all;
    if constexpr (kMeasure == Measure::kIou) {
      return iou;
    } else {
      const F width = hull_length(a.x1, a.x2, b.x1, b.x2);
      const F height = hull_length(a.y1, a.y2, b.y1, b.y2);
      if constexpr (kMeasure == Measure::kGeneralizedIou) {
        const F hull = width * height;
        return iou - (hull - all) / hull;
      } else {
        const F diagonal = square(width) + square(height) + epsilon;
        const F dx = (a.x1 + a.x2) / 2 - (b.x1 + b.x2) / 2;
        const F dy = (a.y1 + a.y2) / 2 - (b.y1 + b.y2) / 2;
        return iou - (square(dx) + square(dy)) / diagonal;
      }
    }
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const int64_t row = n * rows + y;
    result[row * columns + x] =
        measure(load_box(first + row * 4), load_box(second + (n * columns + x) * 4));
  }
};

// Calls `launch` with the functor for the arguments, which the binding has checked.
template <class Launch>
auto dispatch_box_pairs(const BoxPairsArguments& a, const Launch& launch) {
  const auto of_type = [&](auto number) {
    using F = decltype(number);
    switch (a.measure) {
      case Measure::kIou:
        return launch(BoxPairs<F, Measure::kIou>(a));
      case Measure::kGeneralizedIou:
        return launch(BoxPairs<F, Measure::kGeneralizedIou>(a));
      default:
        return launch(BoxPairs<F, Measure::kDistanceIou>(a));
    }
  };
  return a.is_double ? of_type(double{}) : of_type(float{});
}

// Rotated boxes as a structure of arrays.
struct RotatedColumns {
  double* numbers;  // [kRotatedBoxNumbers, count]
  int64_t count;

  // V is double, or a vector of them: boxes i, i + 1, ...
  template <class V>
  ORBBEC_HD RotatedBox<V> load(int64_t i) const {
    V of[kRotatedBoxNumbers];
    for (int k = 0; k < kRotatedBoxNumbers; ++k) memcpy(&of[k], numbers + k * count + i, sizeof(V));
    return {.cx = of[0],
            .cy = of[1],
            .half_width = of[2],
            .half_height = of[3],
            .sine = of[4],
            .cosine = of[5],
            .area = of[6]};
  }

  ORBBEC_HD void store(int64_t i, const RotatedBox<double>& box) const {
    const double of[] = {box.cx,   box.cy,     box.half_width, box.half_height,
                         box.sine, box.cosine, box.area};
    for (int k = 0; k < kRotatedBoxNumbers; ++k) numbers[k * count + i] = of[k];
  }
};

// Both sets in one array: the first set, then the second.
template <class F>
struct PrepareRotatedBoxes {
  const F* first;
  const F* second;
  int64_t in_first;
  RotatedColumns boxes;

  explicit PrepareRotatedBoxes(const BoxPairsArguments& a)
      : first(static_cast<const F*>(a.first)),
        second(static_cast<const F*>(a.second)),
        in_first(a.batch * a.rows),
        boxes{a.work, a.batch * (int64_t{a.rows} + a.columns)} {}

  ORBBEC_HD void operator()(int64_t, int i) const {
    const F* const numbers = i < in_first ? first + int64_t{i} * 5 : second + (i - in_first) * 5;
    boxes.store(i, rotated_box(numbers));
  }
};

template <class F>
struct RotatedBoxPairs {
  RotatedColumns boxes;
  F* result;
  int64_t in_first;
  int rows, columns;

  explicit RotatedBoxPairs(const BoxPairsArguments& a)
      : boxes{a.work, a.batch * (int64_t{a.rows} + a.columns)},
        result(static_cast<F*>(a.result)),
        in_first(a.batch * a.rows),
        rows(a.rows),
        columns(a.columns) {}

  ORBBEC_HD int64_t second_index(int64_t n, int x) const { return in_first + n * columns + x; }

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const int64_t row = n * rows + y;
    result[row * columns + x] = static_cast<F>(
        rotated_iou(boxes.load<double>(row), boxes.load<double>(second_index(n, x))));
  }
};

template <class Launch>
auto dispatch_rotated_box_pairs(const BoxPairsArguments& a, const Launch& launch) {
  return a.is_double ? launch(PrepareRotatedBoxes<double>(a), RotatedBoxPairs<double>(a))
                     : launch(PrepareRotatedBoxes<float>(a), RotatedBoxPairs<float>(a));
}

}  // namespace orbbec
