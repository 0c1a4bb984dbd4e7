// `scale_by_factors_out`: images times a plane plus another.
#include "../../bridge/images.h"
#include "factors.h"

namespace orbbec {

void scale_by_factors_cpu(const FactorArguments& arguments, const ParallelFor& parallel);

namespace {

constexpr const char* kOp = "scale_by_factors";

const float* plane_of(const char* name, const Tensor& plane, const Tensor& out) {
  check(plane.is_cpu() && plane.dim() == 3 && plane.scalar_type() == ScalarType::Float &&
            plane.is_contiguous() && plane.size(0) == out.size(0) && plane.size(1) == out.size(2) &&
            plane.size(2) == out.size(3),
        kOp, "expected ", name, " as contiguous float32 [", out.size(0), ", ", out.size(2), ", ",
        out.size(3), "] on the CPU, but got shape ", shape_text(plane));
  check_apart(kOp, out, plane, name);
  return static_cast<const float*>(plane.const_data_ptr());
}

void scale_by_factors_out(Tensor images, Tensor factors, std::optional<Tensor> shifts, Tensor out) {
  const ScalarType type = images.scalar_type();
  check(images.is_cpu() && (type == ScalarType::Byte || type == ScalarType::Float), kOp,
        "expected images of uint8 or float32 on the CPU");
  FactorArguments a{};
  a.source = dense_images(kOp, "images", images, const_cast<void*>(images.const_data_ptr()));
  const Shape sizes = images.sizes();
  check_output_of(kOp, out, {sizes.begin(), sizes.end()}, type, images);
  a.output = dense_images(kOp, "out", out, out.mutable_data_ptr());
  a.factors = plane_of("factors", factors, out);
  a.shifts = shifts.has_value() ? plane_of("shifts", *shifts, out) : nullptr;
  a.dtype = dtype_of(kOp, type);
  scale_by_factors_cpu(a, torch_threads());
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "scale_by_factors_out(Tensor images, Tensor factors, Tensor? shifts, Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("scale_by_factors_out", TORCH_BOX(&orbbec::scale_by_factors_out));
}
