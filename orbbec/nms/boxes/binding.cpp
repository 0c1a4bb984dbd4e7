#include "../../bridge/device.h"
#include "../../bridge/memory.h"
#include "boxes.h"

namespace orbbec {

void box_pairs_cpu(const BoxPairsArguments& arguments, const ParallelFor& parallel);
void rotated_box_pairs_cpu(const BoxPairsArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int box_pairs_cuda(const BoxPairsArguments& arguments, void* stream);
[[gnu::weak]] int rotated_box_pairs_cuda(const BoxPairsArguments& arguments, void* stream);

namespace {

constexpr int64_t kMaxBoxes = 2147483647;  // of both sets together: indices are int

void check_boxes(const char* op, const char* name, const Tensor& boxes, int64_t numbers) {
  check(boxes.dim() == 3 && boxes.size(2) == numbers, op, "expected ", name, " of shape [B, N, ",
        numbers, "], but got ", shape_text(boxes));
  check(boxes.scalar_type() == ScalarType::Float || boxes.scalar_type() == ScalarType::Double, op,
        "expected ", name, " of float32 or float64");
}

// Two sets of boxes on one device, and the result for each pair.
struct BoxPairsCall {
  Tensor first, second, result;
  BoxPairsArguments arguments{};

  BoxPairsCall(const char* op, const Tensor& boxes1, const Tensor& boxes2, int64_t numbers)
      : first(boxes1), second(boxes2) {
    check_boxes(op, "boxes1", boxes1, numbers);
    check_boxes(op, "boxes2", boxes2, numbers);
    check(boxes1.size(0) == boxes2.size(0), op, "expected boxes1 and boxes2 of one batch, but got ",
          shape_text(boxes1), " and ", shape_text(boxes2));
    check(boxes1.scalar_type() == boxes2.scalar_type(), op,
          "expected boxes1 and boxes2 of one dtype");
    check(same_device(boxes1, boxes2), op, "expected boxes1 and boxes2 on one device");
    const int64_t batch = boxes1.size(0), rows = boxes1.size(1), columns = boxes2.size(1);
    check(rows <= kMaxBoxes - columns && (batch == 0 || rows + columns <= kMaxBoxes / batch), op,
          "expected at most ", kMaxBoxes, " boxes, but got ", shape_text(boxes1), " and ",
          shape_text(boxes2));
    check(is_addressable({batch, rows, columns}), op, "a result of ", batch, " x ", rows, " x ",
          columns, " pairs is too large");
    first = contiguous(op, boxes1);
    second = contiguous(op, boxes2);
    result = new_tensor(op, std::vector<int64_t>{batch, rows, columns}, first.scalar_type(), first);
    arguments.first = first.const_data_ptr();
    arguments.second = second.const_data_ptr();
    arguments.result = result.mutable_data_ptr();
    arguments.batch = batch;
    arguments.rows = static_cast<int>(rows);
    arguments.columns = static_cast<int>(columns);
    arguments.is_double = first.scalar_type() == ScalarType::Double;
  }
};

Measure measure_of(const char* op, const std::string& name) {
  if (name == "iou") return Measure::kIou;
  if (name == "generalized_iou") return Measure::kGeneralizedIou;
  if (name == "distance_iou") return Measure::kDistanceIou;
  fail(op, "expected measure as iou, generalized_iou or distance_iou, but got ", name);
}

Tensor box_overlaps(Tensor boxes1, Tensor boxes2, Text measure, double epsilon) {
  constexpr const char* kOp = "box_overlaps";
  BoxPairsCall call(kOp, boxes1, boxes2, 4);
  call.arguments.measure = measure_of(kOp, measure);
  call.arguments.epsilon = epsilon;
  if (call.result.numel() == 0) return call.result;
  run_where(kOp, boxes1, box_pairs_cpu, box_pairs_cuda, call.arguments);
  return call.result;
}

Tensor box_iou_rotated(Tensor boxes1, Tensor boxes2) {
  constexpr const char* kOp = "box_iou_rotated";
  BoxPairsCall call(kOp, boxes1, boxes2, 5);
  if (call.result.numel() == 0) return call.result;
  const int64_t boxes = (boxes1.size(1) + boxes2.size(1)) * boxes1.size(0);
  Tensor work =
      new_tensor(kOp, std::vector<int64_t>{kRotatedBoxNumbers, boxes}, ScalarType::Double, boxes1);
  call.arguments.work = static_cast<double*>(work.mutable_data_ptr());
  run_where(kOp, boxes1, rotated_box_pairs_cpu, rotated_box_pairs_cuda, call.arguments);
  return call.result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("box_overlaps(Tensor boxes1, Tensor boxes2, str measure, float epsilon) -> Tensor");
  m.def("box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  m.impl("box_overlaps", TORCH_BOX(&orbbec::box_overlaps));
  m.impl("box_iou_rotated", TORCH_BOX(&orbbec::box_iou_rotated));
}
