#include <algorithm>
#include <vector>

#include "../../executors/executor_cpu.h"
#include "matrix_columns.h"
#include "sweep.h"

namespace orbbec {

namespace {

constexpr int64_t kMatrixPairsPerTask = 128 << 10;  // about 0.1 ms of work

template <class F>
SoftNmsBest<F> scalar_sweep(const SoftNmsRule<F>& rule, const SoftNmsColumns<F>& columns, int count,
                            const Box<F>& best) {
  const F area = box_area(best, rule.offset);
  SoftNmsBest<F> next;
  for (int i = 0; i < count; ++i) {
    F& score = columns.score[i];
    if (score == kNoScore<F>) continue;
    const Box<F> box = columns.box(i);
    if (rule.touches_all || shared_area(best, box, rule.offset) > F(0)) {
      score = rule.lowered(score, best, area, box, columns.area[i]);
    }
    score = rule.score_or_none(score);
    if (score > next.score) next = {score, i};
  }
  return next;
}

template <class F>
SoftNmsSweep<F> fastest_sweep() {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<F, float>) {
    const Simd level = simd_level();
    if (level == Simd::kAvx512) return vector_sweep<Avx512>;
    if (level == Simd::kAvx2) return vector_sweep<Avx2>;
  }
#endif
  return scalar_sweep<F>;
}

// The remaining boxes, in order, and their indices in the input.
template <class F>
class SoftNmsBoxes {
 public:
  explicit SoftNmsBoxes(const SoftNmsArguments& a)
      : columns_(a.work, a.column_stride), size_(a.count), input_(a.count) {
    for (int i = 0; i < size_; ++i) {
      load_soft_nms(a, columns_, i);
      input_[i] = i;
    }
    fill();
  }

  const SoftNmsColumns<F>& columns() const { return columns_; }
  int size() const { return (size_ + kSoftNmsLanes - 1) / kSoftNmsLanes * kSoftNmsLanes; }
  int input_index(int i) const { return input_[i]; }

  SoftNmsBest<F> best() const {
    SoftNmsBest<F> best;
    for (int i = 0; i < size_; ++i) {
      if (columns_.score[i] > best.score) best = {columns_.score[i], i};
    }
    return best;
  }

  void take(int i) { columns_.score[i] = kNoScore<F>; }

  // Removes boxes without a score. The best row is kept, and its new index is returned.
  int leave_out(int index) {
    int size = 0, new_index = index;
    for (int i = 0; i < size_; ++i) {
      if (columns_.score[i] == kNoScore<F>) continue;
      if (i == index) new_index = size;
      move(i, size++);
    }
    size_ = size;
    fill();
    return new_index;
  }

 private:
  void move(int from, int to) {
    for (F* column :
         {columns_.x1, columns_.y1, columns_.x2, columns_.y2, columns_.area, columns_.score}) {
      column[to] = column[from];
    }
    input_[to] = input_[from];
  }

  void fill() {
    for (int i = size_; i < size(); ++i) {
      for (F* column : {columns_.x1, columns_.y1, columns_.x2, columns_.y2, columns_.area}) {
        column[i] = F(0);
      }
      columns_.score[i] = kNoScore<F>;
    }
  }

  SoftNmsColumns<F> columns_;
  int size_;
  std::vector<int> input_;
};

template <class F>
void run(const SoftNmsArguments& a) {
  const SoftNmsRule<F> rule(a);
  const SoftNmsSweep<F> sweep = fastest_sweep<F>();
  F* const scores = static_cast<F*>(a.taken_scores);
  SoftNmsBoxes<F> boxes(a);
  SoftNmsBest<F> best = boxes.best();
  int taken = 0, gone = 0;
  while (best.index >= 0 && taken < a.most) {
    a.indices[taken] = a.first + boxes.input_index(best.index);
    scores[taken++] = best.score;
    boxes.take(best.index);
    best = sweep(rule, boxes.columns(), boxes.size(), boxes.columns().box(best.index));
    // A pass costs as much as the boxes stored, so removed ones are compacted from time to time.
    if (best.index >= 0 && (taken == 1 || ++gone * 8 > boxes.size())) {
      best.index = boxes.leave_out(best.index);
      gone = 0;
    }
  }
  if (a.taken != nullptr) *a.taken = taken;
  std::fill(a.indices + taken, a.indices + a.most, -1);
  std::fill(scores + taken, scores + a.most, static_cast<F>(a.padding));
}

// A task owns a group.
template <class F>
void run_groups(const SoftNmsArguments& a, const ParallelFor& parallel) {
  if (a.groups == nullptr) return run<F>(a);
  std::vector<int> bounds{0};
  for (int i = 1; i < a.count; ++i) {
    if (a.groups[i] != a.groups[i - 1]) bounds.push_back(i);
  }
  bounds.push_back(a.count);
  const int64_t groups = static_cast<int64_t>(bounds.size()) - 1;
  parallel(groups, 1, [&](int64_t begin, int64_t end) {
    std::vector<F> work;
    for (int64_t g = begin; g < end; ++g) {
      SoftNmsArguments group = soft_nms_group<F>(a, bounds[g], bounds[g + 1]);
      group.column_stride = (group.count + kSoftNmsLanes - 1) / kSoftNmsLanes * kSoftNmsLanes;
      work.resize(int64_t{kSoftNmsColumns} * group.column_stride);
      group.work = work.data();
      run<F>(group);
    }
  });
}

// The columns of a call, with memory for its overlaps.
class MatrixNmsMemory {
 public:
  explicit MatrixNmsMemory(const MatrixNmsArguments& a)
      : stride_((a.count + kSoftNmsLanes - 1) / kSoftNmsLanes * kSoftNmsLanes),
        numbers_(6 * stride_) {
    const float* const boxes = static_cast<const float*>(a.boxes);
    for (int i = 0; i < a.count; ++i) {
      const Box<float> box = load_box(boxes + int64_t{i} * 4);
      float* const number = numbers_.data() + i;
      number[0] = box.x1;
      number[stride_] = box.y1;
      number[2 * stride_] = box.x2;
      number[3 * stride_] = box.y2;
      number[4 * stride_] = box_area(box);
    }
    if (a.labels == nullptr) return;
    labels_.assign(a.labels, a.labels + a.count);
    labels_.resize(stride_);
  }

  MatrixNmsColumns columns() const {
    const float* const first = numbers_.data();
    return {first,
            first + stride_,
            first + 2 * stride_,
            first + 3 * stride_,
            first + 4 * stride_,
            first + 5 * stride_,
            labels_.empty() ? nullptr : labels_.data()};
  }
  float* overlaps() { return numbers_.data() + 5 * stride_; }

 private:
  int64_t stride_;
  std::vector<float> numbers_;
  std::vector<int64_t> labels_;
};

template <class Simd>
void run_matrix_with(const MatrixNmsArguments& a, const ParallelFor& parallel) {
  const MatrixNms<float> rule(a);
  MatrixNmsMemory memory(a);
  const MatrixNmsColumns columns = memory.columns();
  const auto run = [&](MatrixNmsItem item, float* results) {
    const int64_t grain = kMatrixPairsPerTask / a.count + 1;
    parallel(a.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) results[i] = item(rule, columns, static_cast<int>(i));
    });
  };
  run(vector_overlap<Simd>, memory.overlaps());
  run(vector_decay<Simd>, rule.decays);
}

void run_scalar_matrix(const MatrixNmsArguments& a, const ParallelFor& parallel) {
  dispatch_matrix_nms(a, [&](const auto& overlaps, const auto& decays) {
    const int64_t work = a.count / 16 + 1;  // per box, in pixels
    for_each_item_cpu(overlaps, 1, a.count, work, parallel);
    for_each_item_cpu(decays, 1, a.count, work, parallel);
  });
}

}  // namespace

void soft_nms_cpu(const SoftNmsArguments& a, const ParallelFor& parallel) {
  a.is_double ? run_groups<double>(a, parallel) : run_groups<float>(a, parallel);
}

void matrix_nms_cpu(const MatrixNmsArguments& a, const ParallelFor& parallel) {
#if defined(__x86_64__)
  if (!a.is_double) {
    const Simd level = simd_level();
    if (level == Simd::kAvx512) return run_matrix_with<Avx512>(a, parallel);
    if (level == Simd::kAvx2) return run_matrix_with<Avx2>(a, parallel);
  }
#endif
  run_scalar_matrix(a, parallel);
}

}  // namespace orbbec
