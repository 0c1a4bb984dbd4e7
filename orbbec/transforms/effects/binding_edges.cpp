// `edge_distances`: distances from the edges of an image of one channel, as OpenCV finds them.
#include "../../bridge/images.h"
#include "edges.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "edge_distances";

Tensor edge_distances(Tensor image, int64_t low, int64_t high, double most) {
  check(image.is_cpu() && image.dim() == 2 && image.scalar_type() == ScalarType::Byte &&
            image.is_contiguous(),
        kOp, "expected image as contiguous uint8 [H, W] on the CPU, but got shape ",
        shape_text(image));
  check(0 <= low && low <= high && high <= 2040, kOp,
        "expected 0 <= low <= high <= 2040, but got low ", low, " and high ", high);
  check(most > 0 && most <= 1000, kOp, "expected most above 0 and up to 1000, but got ", most);
  const int64_t height = image.size(0), width = image.size(1);
  const auto* const values = static_cast<const uint8_t*>(image.const_data_ptr());
  const Tensor result = new_tensor(kOp, image.sizes(), ScalarType::Float, image);
  if (height * width == 0) return result;
  PaddedPlane marks =
      edges_of({values, height, width}, static_cast<int32_t>(low), static_cast<int32_t>(high));
  distances_of(marks, height, width, static_cast<float>(most),
               static_cast<float*>(result.mutable_data_ptr()));
  return result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("edge_distances(Tensor image, int low, int high, float most) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("edge_distances", TORCH_BOX(&orbbec::edge_distances));
}
