#include "../binding_filters.h"
#include "pillow_blur.h"

namespace orbbec {

void pillow_blur_cpu(const PillowBlurArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int pillow_blur_cuda(const PillowBlurArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "pillow_blur";

void check_boxes(const Tensor& boxes, int64_t count) {
  check(boxes.dim() == 2 && boxes.size(0) == count && boxes.size(1) == 3 && boxes.is_contiguous(),
        kOp, "expected contiguous boxes of shape [", count, ", 3], but got ", shape_text(boxes));
  check(boxes.scalar_type() == ScalarType::Long, kOp, "expected boxes of int64");
}

Tensor pillow_blur(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor boxes) {
  PillowBlurArguments a{};
  a.source = filter_source(kOp, images, layout, channels);
  check(images.scalar_type() == ScalarType::Byte, kOp, "expected images of uint8");
  check_boxes(boxes, a.source.count);
  if (output_of_variant != nullptr) check_apart(kOp, *output_of_variant, boxes, "boxes");
  const Tensor output = filter_output(kOp, images, layout, a.source, a.output);
  if (output.numel() == 0 || a.source.count == 0) return output;
  const Tensor table = argument_on_device_of(kOp, "boxes", boxes, images);
  a.boxes = static_cast<const int64_t*>(table.const_data_ptr());
  const int64_t bytes = runs_cuda_kernels(images) ? output.numel() : 0;
  const Tensor scratch = new_tensor(kOp, std::vector<int64_t>{bytes}, ScalarType::Byte, images);
  a.scratch = scratch.mutable_data_ptr();
  run_where(kOp, images, pillow_blur_cpu, pillow_blur_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m, "pillow_blur(Tensor images, Tensor? layout, int channels, Tensor boxes) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::pillow_blur)>(m, "pillow_blur");
}
