// The sweep, one vector of boxes at a time. Included by soft_nms_avx2.cpp and soft_nms_avx512.cpp,
// under their targets.
#pragma once

namespace orbbec {

template <class Simd>
SoftNmsBest<float> vector_sweep(const SoftNmsRule<float>& rule,
                                const SoftNmsColumns<float>& columns, int count,
                                const Box<float>& best) {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  const Box<Float> taken{Simd::all_lanes(best.x1), Simd::all_lanes(best.y1),
                         Simd::all_lanes(best.x2), Simd::all_lanes(best.y2)};
  const Float taken_area = Simd::all_lanes(box_area(best, rule.offset));
  const Float offset = Simd::all_lanes(rule.offset), none = Simd::all_lanes(kNoScore<float>);
  Float highest = none;
  Int indices = Int{} - 1, index = Simd::lane_numbers();
  for (int i = 0; i < count; i += Simd::kLanes, index += Simd::kLanes) {
    Float score = Simd::load(columns.score + i);
    const Box<Float> box{Simd::load(columns.x1 + i), Simd::load(columns.y1 + i),
                         Simd::load(columns.x2 + i), Simd::load(columns.y2 + i)};
    const Float shared = shared_area(taken, box, offset);
    if (rule.touches_all || Simd::any(shared > Float{})) {
      score = rule.lowered(score, taken, taken_area, box, Simd::load(columns.area + i));
    }
    score = rule.score_or_none(score);
    Simd::store(columns.score + i, score);
    const Int higher = score > highest;
    highest = higher ? score : highest;
    indices = higher ? index : indices;
  }
  SoftNmsBest<float> result;
  for (int lane = 0; lane < Simd::kLanes; ++lane) {
    if (result.loses_to(highest[lane], indices[lane])) {
      result.score = highest[lane];
      result.index = indices[lane];
    }
  }
  return result;
}

}  // namespace orbbec
