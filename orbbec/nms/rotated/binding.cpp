#include "../binding_greedy.h"
#include "nms_rotated.h"

namespace orbbec {

void nms_rotated_cpu(const NmsRotatedArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int nms_rotated_cuda(const NmsRotatedArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "nms_rotated";

Tensor nms_rotated_keepers(Tensor boxes, std::optional<Tensor> groups, double iou_threshold) {
  NmsRotatedArguments a{};
  const Tensor ranked = ranked_boxes(kOp, boxes, 5);
  const std::optional<Tensor> of_boxes = ranked_groups(kOp, groups, ranked);
  a.boxes = ranked.const_data_ptr();
  a.is_double = ranked.scalar_type() == ScalarType::Double;
  a.threshold = iou_threshold;
  return run_greedy(kOp, ranked, of_boxes, a, nms_rotated_cpu, nms_rotated_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("nms_rotated_keepers(Tensor boxes, Tensor? groups, float iou_threshold) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("nms_rotated_keepers", TORCH_BOX(&orbbec::nms_rotated_keepers)); }
