#include "../binding/images.h"
#include "ycbcr.h"

namespace orbbec {

void ycbcr_to_rgb_cpu(const YcbcrToRgb& op, const ParallelFor& parallel);
[[gnu::weak]] int ycbcr_to_rgb_cuda(const YcbcrToRgb& op, void* stream);

namespace {

constexpr const char* kOp = "ycbcr_to_rgb";
constexpr int64_t kMaxBytes = int64_t{1} << 59;  // offsets stay below 2^63

const int64_t* check_forms(const Tensor& forms, const Tensor& planes, int64_t count) {
  check(forms.dim() == 2 && forms.size(0) == count && forms.size(1) == 2, kOp,
        "expected forms of shape [", count, ", 2], but got ", shape_text(forms));
  check(forms.scalar_type() == ScalarType::Long && forms.is_contiguous(), kOp,
        "expected forms as contiguous int64");
  check(same_device(forms, planes), kOp, "expected forms on the device of the images");
  return static_cast<const int64_t*>(forms.const_data_ptr());
}

Tensor ycbcr_to_rgb(Tensor planes, Tensor layout, Tensor forms, Tensor rgb_layout, int64_t nbytes) {
  const AnyImages stored = ragged_images(kOp, planes, layout, 1);
  const int64_t* const of_images = check_forms(forms, planes, stored.count);
  check(rgb_layout.dim() == 2 && rgb_layout.size(0) == stored.count, kOp,
        "expected rgb_layout of shape [", stored.count, ", 3], but got ", shape_text(rgb_layout));
  check(nbytes >= 0 && nbytes <= kMaxBytes, kOp, "expected nbytes from 0 to 2^59, but got ",
        nbytes);
  const Tensor output =
      torch::stable::empty({nbytes}, ScalarType::Byte, std::nullopt, planes.device());
  ask_for_huge_pages(output);
  const YcbcrToRgb op{Images<const uint8_t>(stored),
                      Images<uint8_t>(ragged_images(kOp, output, rgb_layout, 3)), of_images};
  if (stored.count == 0) return output;
  run_where(
      kOp, planes, [&](const ParallelFor& threads) { ycbcr_to_rgb_cpu(op, threads); },
      [&](void* stream) { return ycbcr_to_rgb_cuda(op, stream); });
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "ycbcr_to_rgb(Tensor planes, Tensor layout, Tensor forms, Tensor rgb_layout, int nbytes) -> "
      "Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("ycbcr_to_rgb", TORCH_BOX(&orbbec::ycbcr_to_rgb));
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, m) {
  m.impl("ycbcr_to_rgb", TORCH_BOX(&orbbec::ycbcr_to_rgb));
}
