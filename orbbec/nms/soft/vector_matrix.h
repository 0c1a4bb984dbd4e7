// The overlaps and decays of matrix_columns.h. Included by soft_nms_avx2.cpp and
// soft_nms_avx512.cpp, under their targets.
#pragma once

namespace orbbec {

// Which of the labels from `labels` on are `label`.
template <class Simd>
typename Simd::Int equal_labels(const int64_t* labels, int64_t label) {
  typedef int64_t Labels __attribute__((vector_size(8 * Simd::kLanes)));
  Labels loaded;
  __builtin_memcpy(&loaded, labels, sizeof(loaded));
  return __builtin_convertvector(loaded == label, typename Simd::Int);
}

// visit(k, which, iou) for the boxes from k on, a vector of them: which of them are before box i
// and intersect it.
template <class Simd, class Visit>
void for_each_overlap(const MatrixNmsColumns& columns, int i, const Visit& visit) {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  const Box<float> one = columns.box(i);
  const Box<Float> box{Simd::all_lanes(one.x1), Simd::all_lanes(one.y1), Simd::all_lanes(one.x2),
                       Simd::all_lanes(one.y2)};
  const Float area = Simd::all_lanes(columns.area[i]);
  Int index = Simd::lane_numbers();
  for (int k = 0; k < i; k += Simd::kLanes, index += Simd::kLanes) {
    const Box<Float> others{Simd::load(columns.x1 + k), Simd::load(columns.y1 + k),
                            Simd::load(columns.x2 + k), Simd::load(columns.y2 + k)};
    const Float shared = shared_area(box, others);
    Int which = (shared > Float{}) & (index < i);
    if (columns.labels != nullptr)
      which &= equal_labels<Simd>(columns.labels + k, columns.labels[i]);
    if (Simd::any(which)) visit(k, which, shared / (area + Simd::load(columns.area + k) - shared));
  }
}

template <class Simd>
float vector_overlap(const MatrixNms<float>&, const MatrixNmsColumns& columns, int i) {
  using Float = typename Simd::Float;
  Float highest{};
  for_each_overlap<Simd>(columns, i, [&](int, typename Simd::Int which, Float iou) {
    highest = which & (iou > highest) ? iou : highest;
  });
  float result = 0;
  for (int lane = 0; lane < Simd::kLanes; ++lane)
    result = highest[lane] > result ? highest[lane] : result;
  return result;
}

template <class Simd>
float vector_decay(const MatrixNms<float>& rule, const MatrixNmsColumns& columns, int i) {
  using Float = typename Simd::Float;
  Float least = Simd::all_lanes(rule.no_decay());
  for_each_overlap<Simd>(columns, i, [&](int k, typename Simd::Int which, Float iou) {
    const Float decays = rule.decay_by(iou, Simd::load(columns.overlaps + k));
    least = which & (decays < least) ? decays : least;
  });
  float result = rule.no_decay();
  for (int lane = 0; lane < Simd::kLanes; ++lane)
    result = least[lane] < result ? least[lane] : result;
  return rule.decay_of(result);
}

}  // namespace orbbec
