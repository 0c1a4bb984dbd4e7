#include "../../executors/executor_cpu.h"
#include "boxes.h"

namespace orbbec {

namespace {

typedef double Vec4 __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));

// A row of pairs, one vector of columns at a time; most vectors contain no overlapping box.
template <class V, class Op>
ORBBEC_HD void rotated_row(const Op& op, int64_t n, int y, int width) {
  constexpr int kLanes = sizeof(V) / sizeof(double);
  const int64_t row = n * op.rows + y;
  const RotatedBox<double> a = op.boxes.template load<double>(row);
  const V none{};
  const RotatedBox<V> box{.cx = none + a.cx,
                          .cy = none + a.cy,
                          .half_width = none + a.half_width,
                          .half_height = none + a.half_height,
                          .sine = none + a.sine,
                          .cosine = none + a.cosine,
                          .area = none + a.area};
  auto* const result = op.result + row * op.columns;
  int x = 0;
  for (; x + kLanes <= width; x += kLanes) {
    const RotatedBox<V> others = op.boxes.template load<V>(op.second_index(n, x));
    const auto overlaps = rotated_boxes_overlap(box, others);
    auto any = overlaps[0];
    for (int lane = 1; lane < kLanes; ++lane) any |= overlaps[lane];
    const V iou = any ? rotated_iou(box, others) : none;
    for (int lane = 0; lane < kLanes; ++lane) result[x + lane] = iou[lane];
  }
  for (; x < width; ++x) op(n, y, x);
}

}  // namespace

void box_pairs_cpu(const BoxPairsArguments& arguments, const ParallelFor& parallel) {
  dispatch_box_pairs(
      arguments, [&](const auto& op) { for_each_pixel_cpu(op, pairs_shape(arguments), parallel); });
}

void rotated_box_pairs_cpu(const BoxPairsArguments& arguments, const ParallelFor& parallel) {
  dispatch_rotated_box_pairs(arguments, [&](const auto& prepare, const auto& pairs) {
    for_each_item_cpu(prepare, 1, static_cast<int>(prepare.boxes.count), 16, parallel);
    using Op = std::decay_t<decltype(pairs)>;
    const PixelRow<Op> row =
        compiled_to_avx512<each_pixel<Op>, rotated_row<Vec4, Op>, rotated_row<Eight, Op>>(
            simd_level());
    for_each_pixel_cpu(pairs, pairs_shape(arguments), parallel, row);
  });
}

}  // namespace orbbec
