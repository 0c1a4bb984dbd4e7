#include "../bridge/images.h"
#include "scaleoffset.h"

namespace orbbec {

void scale_offset_cpu(const ScaleOffsetArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int scale_offset_cuda(const ScaleOffsetArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "scale_offset";

// One float32 per image, contiguous; the result must outlive the launch that reads it.
Tensor one_each(const char* name, const Tensor& values, const Tensor& images) {
  check(values.dim() == 1 && values.size(0) == images.size(0), kOp, "expected ", name,
        " of shape [", images.size(0), "], but got ", shape_text(values));
  check(values.scalar_type() == ScalarType::Float, kOp, "expected ", name, " of float32");
  check(same_device(values, images), kOp, "expected ", name, " on the device of images");
  return torch::stable::contiguous(values);
}

Tensor scale_offset(Tensor images, Tensor scale, Tensor offset) {
  ScaleOffsetArguments a{};
  a.dtype = dtype_of(kOp, images);
  check(a.dtype == DType::kUInt8 || a.dtype == DType::kFloat32, kOp,
        "expected images of uint8 or float32");
  a.source = dense_images(kOp, "images", images, const_cast<void*>(images.const_data_ptr()));
  const Tensor scales = one_each("scale", scale, images);
  const Tensor offsets = one_each("offset", offset, images);
  const Tensor output = new_output(kOp, images, a.source, {images.size(2), images.size(3)});
  if (output.numel() == 0) return output;
  a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
  a.scale = static_cast<const float*>(scales.const_data_ptr());
  a.offset = static_cast<const float*>(offsets.const_data_ptr());
  run_where(kOp, images, scale_offset_cpu, scale_offset_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("scale_offset(Tensor images, Tensor scale, Tensor offset) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("scale_offset", TORCH_BOX(&orbbec::scale_offset)); }
