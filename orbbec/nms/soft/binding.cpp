#include <cmath>

#include "../../bridge/device.h"
#include "../../bridge/memory.h"
#include "soft_nms.h"

namespace orbbec {

void soft_nms_cpu(const SoftNmsArguments& arguments, const ParallelFor& parallel);
void matrix_nms_cpu(const MatrixNmsArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int soft_nms_cuda(const SoftNmsArguments& arguments, void* stream);
[[gnu::weak]] int matrix_nms_cuda(const MatrixNmsArguments& arguments, void* stream);

namespace {

constexpr int64_t kMaxBoxes = int64_t{1} << 30;  // indices, and one past the last, are int

// Contiguous; the result must outlive the launch.
Tensor corner_boxes(const char* op, const Tensor& boxes) {
  check(boxes.dim() == 2 && boxes.size(1) == 4, op, "expected boxes of shape [N, 4], but got ",
        shape_text(boxes));
  check(boxes.scalar_type() == ScalarType::Float || boxes.scalar_type() == ScalarType::Double, op,
        "expected boxes of float32 or float64");
  check(boxes.size(0) <= kMaxBoxes, op, "expected at most ", kMaxBoxes, " boxes, but got ",
        boxes.size(0));
  return contiguous(op, boxes);
}

Tensor one_each(const char* op, const char* name, const Tensor& values, const Tensor& boxes,
                ScalarType dtype, const char* dtype_name) {
  check(values.defined(), op, "expected ", name, ", but got None");
  check(values.dim() == 1 && values.size(0) == boxes.size(0), op, "expected ", name, " of shape [",
        boxes.size(0), "], but got ", shape_text(values));
  check(values.scalar_type() == dtype, op, "expected ", name, " of ", dtype_name);
  check(same_device(values, boxes), op, "expected ", name, " on the device of boxes");
  return contiguous(op, values);
}

Decay decay_of(const char* op, const std::string& method) {
  if (method == "naive") return Decay::kNaive;
  if (method == "linear") return Decay::kLinear;
  if (method == "gaussian") return Decay::kGaussian;
  fail(op, "expected method as naive, linear or gaussian, but got ", method);
}

void check_sigma(const char* op, double sigma) {
  check(sigma > 0, op, "expected sigma above 0, but got ", sigma);
}

struct SoftNmsOptions {
  std::string method;
  double iou_threshold, sigma, min_score, offset;
};

struct SoftNmsResults {
  Tensor indices, scores, taken;
};

// Takes at most `most` boxes; with `groups`, all of each group.
SoftNmsResults run_soft_nms(const char* op, const Tensor& boxes, const Tensor& scores,
                            const Tensor* groups, const SoftNmsOptions& options, int64_t most) {
  const Tensor corners = corner_boxes(op, boxes);
  const Tensor ranks =
      one_each(op, "scores", scores, corners, corners.scalar_type(), "the dtype of boxes");
  std::optional<Tensor> of_boxes;
  if (groups != nullptr) {
    of_boxes = one_each(op, "groups", *groups, corners, ScalarType::Long, "int64");
  }
  check(!std::isnan(options.iou_threshold), op, "expected iou_threshold as a number, but got nan");
  check(std::isfinite(options.min_score), op, "expected a finite min_score, but got ",
        options.min_score);
  check(std::isfinite(options.offset), op, "expected a finite offset, but got ", options.offset);
  check_sigma(op, options.sigma);
  check(most >= 0 && most <= kMaxBoxes, op, "expected max_output from 0 to ", kMaxBoxes,
        ", but got ", most);
  SoftNmsArguments a{};
  a.decay = decay_of(op, options.method);
  a.count = static_cast<int>(corners.size(0));
  a.most = static_cast<int>(most);
  a.column_stride = (a.count + kSoftNmsLanes - 1) / kSoftNmsLanes * kSoftNmsLanes;
  const auto empty = [&](const std::vector<int64_t>& size, ScalarType dtype) {
    return new_tensor(op, size, dtype, corners);
  };
  Tensor work = empty({kSoftNmsColumns, a.column_stride}, corners.scalar_type());
  SoftNmsResults results{empty({most}, ScalarType::Long), empty({most}, corners.scalar_type()),
                         empty({}, ScalarType::Long)};
  a.boxes = corners.const_data_ptr();
  a.scores = ranks.const_data_ptr();
  a.work = work.mutable_data_ptr();
  a.indices = static_cast<int64_t*>(results.indices.mutable_data_ptr());
  a.taken_scores = results.scores.mutable_data_ptr();
  if (of_boxes) {
    a.groups = static_cast<const int64_t*>(of_boxes->const_data_ptr());
    a.padding = -INFINITY;
  } else {
    a.taken = static_cast<int64_t*>(results.taken.mutable_data_ptr());
  }
  a.is_double = corners.scalar_type() == ScalarType::Double;
  a.iou_threshold = options.iou_threshold;
  a.sigma = options.sigma;
  a.min_score = options.min_score;
  a.offset = options.offset;
  if (!of_boxes || a.count > 0) run_where(op, corners, soft_nms_cpu, soft_nms_cuda, a);
  return results;
}

std::tuple<Tensor, Tensor, Tensor> soft_nms(Tensor boxes, Tensor scores, Text method,
                                            double iou_threshold, double sigma, double min_score,
                                            double offset, int64_t max_output) {
  const SoftNmsResults results =
      run_soft_nms("soft_nms", boxes, scores, nullptr,
                   {method, iou_threshold, sigma, min_score, offset}, max_output);
  return {results.indices, results.scores, results.taken};
}

// For each group, ascending: its results at the positions of its boxes, padded with -1 and -inf.
std::tuple<Tensor, Tensor> grouped_soft_nms(Tensor boxes, Tensor scores, Tensor groups, Text method,
                                            double iou_threshold, double sigma, double min_score,
                                            double offset) {
  const int64_t count = boxes.dim() > 0 ? boxes.size(0) : 0;
  const SoftNmsResults results =
      run_soft_nms("batched_nms", boxes, scores, &groups,
                   {method, iou_threshold, sigma, min_score, offset}, count);
  return {results.indices, results.scores};
}

Tensor matrix_nms_decays(Tensor boxes, std::optional<Tensor> labels, Text method, double sigma) {
  constexpr const char* kOp = "matrix_nms";
  const Tensor corners = corner_boxes(kOp, boxes);
  std::optional<Tensor> of_boxes;
  if (labels) of_boxes = one_each(kOp, "labels", *labels, corners, ScalarType::Long, "int64");
  check(method == "gaussian" || method == "linear", kOp,
        "expected method as linear or gaussian, but got ", method);
  check_sigma(kOp, sigma);
  const int64_t count = corners.size(0);
  const auto numbers = [&] {
    return new_tensor(kOp, std::vector<int64_t>{count}, corners.scalar_type(), corners);
  };
  Tensor decays = numbers(), overlaps = numbers();
  if (count == 0) return decays;
  MatrixNmsArguments a{};
  a.boxes = corners.const_data_ptr();
  a.labels = of_boxes ? static_cast<const int64_t*>(of_boxes->const_data_ptr()) : nullptr;
  a.overlaps = overlaps.mutable_data_ptr();
  a.decays = decays.mutable_data_ptr();
  a.count = static_cast<int>(count);
  a.is_double = corners.scalar_type() == ScalarType::Double;
  a.gaussian = method == "gaussian";
  a.sigma = sigma;
  run_where(kOp, corners, matrix_nms_cpu, matrix_nms_cuda, a);
  return decays;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "soft_nms(Tensor boxes, Tensor scores, str method, float iou_threshold, float sigma, float "
      "min_score, float offset, SymInt max_output) -> (Tensor, Tensor, Tensor)");
  m.def(
      "grouped_soft_nms(Tensor boxes, Tensor scores, Tensor groups, str method, float "
      "iou_threshold, float sigma, float min_score, float offset) -> (Tensor, Tensor)");
  m.def("matrix_nms_decays(Tensor boxes, Tensor? labels, str method, float sigma) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("soft_nms", TORCH_BOX(&orbbec::soft_nms));
  m.impl("grouped_soft_nms", TORCH_BOX(&orbbec::grouped_soft_nms));
  m.impl("matrix_nms_decays", TORCH_BOX(&orbbec::matrix_nms_decays));
}
