#include "binding_greedy.h"
#include "nms.h"

namespace orbbec {

void nms_cpu(const NmsArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int nms_cuda(const NmsArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "nms";

Tensor nms_keepers(Tensor boxes, std::optional<Tensor> groups, double iou_threshold,
                   double offset) {
  NmsArguments a{};
  const Tensor ranked = ranked_boxes(kOp, boxes, 4);
  const std::optional<Tensor> of_boxes = ranked_groups(kOp, groups, ranked);
  a.boxes = ranked.const_data_ptr();
  a.is_double = ranked.scalar_type() == ScalarType::Double;
  a.threshold = iou_threshold;
  a.offset = offset;
  return run_greedy(kOp, ranked, of_boxes, a, nms_cpu, nms_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("nms_keepers(Tensor boxes, Tensor? groups, float iou_threshold, float offset) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("nms_keepers", TORCH_BOX(&orbbec::nms_keepers)); }
