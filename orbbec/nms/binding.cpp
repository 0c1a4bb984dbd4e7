#include "binding_greedy.h"
#include "nms.h"

namespace orbbec {

void nms_cpu(const NmsArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int nms_cuda(const NmsArguments& arguments, void* stream);

namespace {

Tensor nms_keepers(Tensor boxes, std::optional<Tensor> groups, double iou_threshold, double offset,
                   Text name) {
  const char* const op = caller_of("nms_keepers", name);
  NmsArguments a{};
  const Tensor ranked = ranked_boxes(op, boxes, 4);
  const std::optional<Tensor> of_boxes = ranked_groups(op, groups, ranked);
  a.boxes = ranked.const_data_ptr();
  a.is_double = ranked.scalar_type() == ScalarType::Double;
  a.threshold = iou_threshold;
  a.offset = offset;
  return run_greedy(op, ranked, of_boxes, a, nms_cpu, nms_cuda);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "nms_keepers(Tensor boxes, Tensor? groups, float iou_threshold, float offset, "
      "str op=\"nms\") -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("nms_keepers", TORCH_BOX(&orbbec::nms_keepers)); }
