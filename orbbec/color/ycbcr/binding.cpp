#include "../../bridge/stored.h"
#include "ycbcr.h"

namespace orbbec {

void ycbcr_to_rgb_cpu(const YcbcrToRgb& op, const ParallelFor& parallel);
[[gnu::weak]] int ycbcr_to_rgb_cuda(const YcbcrToRgb& op, void* stream);

namespace {

constexpr const char* kOp = "ycbcr_to_rgb";
constexpr int64_t kMaxBytes = int64_t{1} << 59;  // offsets stay below 2^63

Tensor ycbcr_to_rgb(Tensor planes, Tensor layout, Tensor forms, Tensor rgb_layout, int64_t nbytes,
                    std::optional<Tensor> boxes) {
  const StoredImages stored = stored_images(kOp, planes, layout, forms);
  const int64_t count = stored.planes.count;
  check(rgb_layout.dim() == 2 && rgb_layout.size(0) == count, kOp, "expected rgb_layout of shape [",
        count, ", 3], but got ", shape_text(rgb_layout));
  check(nbytes >= 0 && nbytes <= kMaxBytes, kOp, "expected nbytes from 0 to 2^59, but got ",
        nbytes);
  const int64_t* const needed =
      boxes ? check_table<int64_t>(kOp, "boxes", *boxes, {count, 4}, planes) : nullptr;
  const Tensor output = new_tensor(kOp, std::vector<int64_t>{nbytes}, ScalarType::Byte, planes);
  ask_for_huge_pages(output);
  const YcbcrToRgb op{stored, Images<uint8_t>(ragged_images(kOp, output, rgb_layout, 3)), needed};
  if (count == 0) return output;
  run_where(kOp, planes, ycbcr_to_rgb_cpu, ycbcr_to_rgb_cuda, op);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "ycbcr_to_rgb(Tensor planes, Tensor layout, Tensor forms, Tensor rgb_layout, int nbytes, "
      "Tensor? boxes=None) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("ycbcr_to_rgb", TORCH_BOX(&orbbec::ycbcr_to_rgb)); }
