// soft_nms: takes the best box, lowers the scores of the boxes that overlap it, and repeats.
// Included by the sources of this folder.
#pragma once

#include "../../core/elementary.h"
#include "../box.h"

namespace orbbec {

enum class Decay { kNaive, kLinear, kGaussian };

struct SoftNmsArguments {
  const void* boxes;   // [count, 4]
  const void* scores;  // [count]
  // [count], ascending: boxes of different groups do not compete, and the results of a group are
  // where its boxes are. Null: one group.
  const int64_t* groups;
  void* work;          // [kSoftNmsColumns, column_stride]
  int64_t* indices;    // [most]: of the boxes taken, in order; then -1
  void* taken_scores;  // [most]: their scores when taken; then `padding`
  int64_t* taken;      // their number; null with groups
  double padding;
  int first;  // added to indices
  int count, most;
  int column_stride;  // count rounded up to kSoftNmsLanes
  bool is_double;     // else float
  Decay decay;
  double iou_threshold, sigma, min_score, offset;
};

constexpr int kSoftNmsColumns = 6;  // x1, y1, x2, y2, area, score
constexpr int kSoftNmsLanes = 16;   // of the widest vector

template <class F>
constexpr F kNoScore = F(-INFINITY);  // of a box that was taken or dropped

// Boxes as a structure of arrays.
template <class F>
struct SoftNmsColumns {
  F *x1, *y1, *x2, *y2, *area, *score;

  ORBBEC_HD SoftNmsColumns(void* work, int64_t stride)
      : x1(static_cast<F*>(work)),
        y1(x1 + stride),
        x2(y1 + stride),
        y2(x2 + stride),
        area(y2 + stride),
        score(area + stride) {}

  ORBBEC_HD Box<F> box(int i) const { return {x1[i], y1[i], x2[i], y2[i]}; }
};

// The arithmetic of one box, or of a vector of them: V is F or a vector of F.
template <class F>
struct SoftNmsRule {
  Decay decay;
  F iou_threshold, sigma, min_score, offset;
  bool touches_all;  // whether disjoint boxes are decayed too

  explicit SoftNmsRule(const SoftNmsArguments& a)
      : decay(a.decay),
        iou_threshold(static_cast<F>(a.iou_threshold)),
        sigma(static_cast<F>(a.sigma)),
        min_score(static_cast<F>(a.min_score)),
        offset(static_cast<F>(a.offset)),
        touches_all(decay != Decay::kGaussian && !(iou_threshold > F(0))) {}

  // The factor of a score; 1 for an IoU that is NaN.
  template <class V>
  ORBBEC_HD V weight(V iou) const {
    const V one = V{} + F(1), threshold = V{} + iou_threshold;
    if (decay == Decay::kGaussian) {
      return iou == iou ? exponential(V(-(iou * iou) / sigma)) : one;
    }
    const V over = decay == Decay::kLinear ? one - iou : V{};
    return iou >= threshold ? over : one;
  }

  // The score of `box` after `best` was taken. A box without one keeps none: its product with a
  // weight below 0, as of an IoU above 1, would be infinite.
  template <class V>
  ORBBEC_HD V lowered(V score, const Box<V>& best, V best_area, const Box<V>& box, V area) const {
    const V product = score * weight(box_iou(best, best_area, box, area, V{} + offset));
    return score > V{} + kNoScore<F> ? product : score;
  }

  // Drops a score that is too low or NaN.
  template <class V>
  ORBBEC_HD V score_or_none(V score) const {
    return score >= V{} + min_score ? score : V{} + kNoScore<F>;
  }
};

// The boxes [begin, end) of a call.
template <class F>
ORBBEC_HD SoftNmsArguments soft_nms_group(const SoftNmsArguments& a, int begin, int end) {
  SoftNmsArguments group = a;
  group.boxes = static_cast<const F*>(a.boxes) + int64_t{begin} * 4;
  group.scores = static_cast<const F*>(a.scores) + begin;
  group.work = static_cast<F*>(a.work) + begin;
  group.indices = a.indices + begin;
  group.taken_scores = static_cast<F*>(a.taken_scores) + begin;
  group.first = begin;
  group.count = group.most = end - begin;
  return group;
}

// The highest score and its first index; the index is -1 if there is none.
template <class F>
struct SoftNmsBest {
  F score = kNoScore<F>;
  std::conditional_t<sizeof(F) == 8, int64_t, int> index =
      -1;  // as wide: a warp shuffles no padding

  ORBBEC_HD bool loses_to(F other_score, int other_index) const {
    return other_score > score ||
           (other_score == score && other_index >= 0 && (index < 0 || other_index < index));
  }
};

// Fills the columns from the boxes of a call.
template <class F>
ORBBEC_HD void load_soft_nms(const SoftNmsArguments& a, const SoftNmsColumns<F>& columns, int i) {
  const Box<F> box = load_box(static_cast<const F*>(a.boxes) + int64_t{i} * 4);
  const F score = static_cast<const F*>(a.scores)[i];
  columns.x1[i] = box.x1;
  columns.y1[i] = box.y1;
  columns.x2[i] = box.x2;
  columns.y2[i] = box.y2;
  columns.area[i] = box_area(box, static_cast<F>(a.offset));
  columns.score[i] = score == score ? score : kNoScore<F>;
}

// Matrix NMS: the decay of a box by all boxes of its label before it in the ranking.
struct MatrixNmsArguments {
  const void* boxes;      // [count, 4], best first
  const int64_t* labels;  // [count], or null where all boxes have one label
  void* overlaps;         // [count]: the highest IoU of each box with one before it
  void* decays;           // [count]
  int count;
  bool is_double;
  bool gaussian;
  double sigma;
};

template <class F>
struct MatrixNms {
  const F* boxes;
  const int64_t* labels;
  F* overlaps;
  F* decays;
  F sigma;
  bool gaussian;

  explicit MatrixNms(const MatrixNmsArguments& a)
      : boxes(static_cast<const F*>(a.boxes)),
        labels(a.labels),
        overlaps(static_cast<F*>(a.overlaps)),
        decays(static_cast<F*>(a.decays)),
        sigma(static_cast<F>(a.sigma)),
        gaussian(a.gaussian) {}

  ORBBEC_HD bool meet(int a, int b) const { return labels == nullptr || labels[a] == labels[b]; }

  // visit(k, iou) for the boxes before i that intersect it.
  template <class Visit>
  ORBBEC_HD void for_each_overlap(int i, const Visit& visit) const {
    const Box<F> box = load_box(boxes + int64_t{i} * 4);
    const F area = box_area(box);
    for (int k = 0; k < i; ++k) {
      if (!meet(i, k)) continue;
      const Box<F> other = load_box(boxes + int64_t{k} * 4);
      const F shared = shared_area(box, other);
      if (!(shared > F(0))) continue;
      visit(k, shared / (area + box_area(other) - shared));
    }
  }

  ORBBEC_HD F highest_overlap(int i) const {
    F highest = F(0);
    for_each_overlap(i, [&](int, F iou) { highest = iou > highest ? iou : highest; });
    return highest;
  }

  // The minimum of the decays by the boxes before it, each compensated by that box's own overlap.
  ORBBEC_HD F decay(int i) const {
    F least = no_decay();
    for_each_overlap(i, [&](int k, F iou) {
      const F by_this = decay_by(iou, overlaps[k]);
      least = by_this < least ? by_this : least;
    });
    return decay_of(least);
  }

  // The decay by one box, or by each of a vector of them, with the highest overlap of that box: V
  // is F or a vector of F. Of gaussian decays, exponents are compared.
  template <class V>
  ORBBEC_HD V decay_by(V iou, V overlap) const {
    const V one = V{} + F(1);
    return gaussian ? sigma * (overlap * overlap - iou * iou) : (one - iou) / (one - overlap);
  }
  ORBBEC_HD F no_decay() const { return gaussian ? F(0) : F(1); }
  ORBBEC_HD F decay_of(F least) const { return gaussian ? exponential(least) : least; }
};

template <class F>
struct MatrixNmsOverlaps {
  MatrixNms<F> rule;
  ORBBEC_HD void operator()(int64_t, int i) const { rule.overlaps[i] = rule.highest_overlap(i); }
};

template <class F>
struct MatrixNmsDecays {
  MatrixNms<F> rule;
  ORBBEC_HD void operator()(int64_t, int i) const { rule.decays[i] = rule.decay(i); }
};

template <class Launch>
auto dispatch_matrix_nms(const MatrixNmsArguments& a, const Launch& launch) {
  const auto of_type = [&](auto number) {
    using F = decltype(number);
    const MatrixNms<F> rule(a);
    return launch(MatrixNmsOverlaps<F>{rule}, MatrixNmsDecays<F>{rule});
  };
  return a.is_double ? of_type(double{}) : of_type(float{});
}

}  // namespace orbbec
