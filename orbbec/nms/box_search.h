// Vectorized search of the kept boxes. Included by nms_avx2.cpp and nms_avx512.cpp, under their
// targets.
#pragma once

namespace orbbec {

template <class Simd>
class BoxSearcher {
 public:
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;

  BoxSearcher(const OverlapRule<float>& rule, const BoxItem& item)
      : box_{Simd::all_lanes(item.box.x1), Simd::all_lanes(item.box.y1),
             Simd::all_lanes(item.box.x2), Simd::all_lanes(item.box.y2)},
        area_(Simd::all_lanes(item.area)),
        offset_(Simd::all_lanes(rule.offset)),
        threshold_(Simd::all_lanes(rule.threshold)),
        near_threshold_(Simd::all_lanes(rule.threshold * 0.999f)),
        divides_always_(!(rule.threshold >= 0)) {}

  Int suppressed_by(const BoxColumns& boxes, int64_t i) const {
    const Box<Float> box{Simd::load(boxes.x1 + i), Simd::load(boxes.y1 + i),
                         Simd::load(boxes.x2 + i), Simd::load(boxes.y2 + i)};
    const Float area = Simd::load(boxes.area + i);
    const Float shared = shared_area(box, box_, offset_);
    // A division costs as much as everything else, and most vectors do not need it. The margin of
    // 0.1 % and kTiny, which exceeds the loss of subnormal products, retain every pair that may
    // pass.
    const Float reach = near_threshold_ * (area + area_ - shared);
    const Int near = shared + Simd::all_lanes(kTiny) > reach;
    if (!divides_always_ && !Simd::any(near)) return Int{};
    return box_iou(box, area, box_, area_, offset_) > threshold_;
  }

 private:
  static constexpr float kTiny = 1e-36f;

  Box<Float> box_;
  Float area_, offset_, threshold_, near_threshold_;
  bool divides_always_;
};

template <class Simd>
int64_t search_boxes(const OverlapRule<float>& rule, const BoxColumns& boxes, int64_t begin,
                     const BoxItem& item) {
  const BoxSearcher<Simd> search(rule, item);
  for (int64_t i = begin; i < boxes.size; i += Simd::kLanes) {
    const auto hits = search.suppressed_by(boxes, i);
    if (!Simd::any(hits)) continue;
    int lane = 0;
    while (hits[lane] == 0) ++lane;
    return i + lane;
  }
  return boxes.size;
}

}  // namespace orbbec
