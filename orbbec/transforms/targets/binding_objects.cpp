// `label_objects`: the connected regions of one value in a mask.
#include "../../bridge/images.h"
#include "objects.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "label_objects";

Tensor label_objects(Tensor mask) {
  check(mask.is_cpu() && mask.dim() == 2 && mask.scalar_type() == ScalarType::Int &&
            mask.is_contiguous(),
        kOp, "expected mask as contiguous int32 [H, W] on the CPU, but got shape ",
        shape_text(mask));
  const int64_t height = mask.size(0), width = mask.size(1);
  check(height * width < INT32_MAX, kOp, "expected fewer than 2^31 - 1 pixels, but got shape ",
        shape_text(mask));
  const auto* const values = static_cast<const int32_t*>(mask.const_data_ptr());
  const Tensor labels = new_tensor(kOp, mask.sizes(), ScalarType::Int, mask);
  const Forest forest{static_cast<int32_t*>(labels.mutable_data_ptr())};
  join_neighbors(values, height, width, forest);
  number_regions(values, height * width, forest);
  return labels;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) { m.def("label_objects(Tensor mask) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("label_objects", TORCH_BOX(&orbbec::label_objects));
}
