// `move_boxes`: moves the boxes of the targets of a batch through a pass.
#include "binding_boxes.h"

namespace orbbec {
namespace {

constexpr const char* kOp = "move_boxes";

// The arguments of `move_boxes`, checked.
struct Call {
  int64_t boxes, images;
  const TargetBox* from;
  const int64_t* image;     // of each box
  const double* matrices;   // output to source, of each image; null: boxes stay where they are
  const int64_t* sizes;     // of the outputs
  const int64_t* regions;   // crops before the matrices; null: none
  const BoxLimits* limits;  // null: no box is dropped
};

TargetBox box_after(const Call& call, int64_t k, const ForwardMatrix& forward) {
  TargetBox box = call.from[k];
  const int64_t n = call.image[k];
  pass_box(box, call.regions == nullptr ? nullptr : call.regions + 4 * n,
           call.matrices == nullptr ? nullptr : &forward, static_cast<double>(call.sizes[2 * n]),
           static_cast<double>(call.sizes[2 * n + 1]), call.limits);
  return box;
}

void move_all(const Call& call, TargetBox* to) {
  ForwardMatrix forward{};
  int64_t image = -1;
  for (int64_t k = 0; k < call.boxes; ++k) {
    const int64_t n = call.image[k];
    check(n >= 0 && n < call.images, kOp, "expected image_indices from 0 to ", call.images - 1,
          ", but got ", n);
    if (call.matrices != nullptr && n != image)
      forward = ForwardMatrix::inverse_of(call.matrices + 9 * n);
    image = n;
    to[k] = box_after(call, k, forward);
  }
}

Tensor move_boxes(Tensor boxes, Tensor image_indices, std::optional<Tensor> matrices, Tensor sizes,
                  std::optional<Tensor> regions, std::vector<double> limits) {
  check(boxes.is_cpu() && boxes.dim() == 2 && sizes.dim() == 2, kOp,
        "expected boxes [K, 7] on the CPU and sizes [N, 2], but got shapes ", shape_text(boxes),
        " and ", shape_text(sizes));
  const int64_t count = boxes.size(0), images = sizes.size(0);
  const BoxLimits some = checked_limits(kOp, limits);
  const Call call{
      count,
      images,
      reinterpret_cast<const TargetBox*>(
          check_table<double>(kOp, "boxes", boxes, {count, kTargetBoxNumbers}, boxes)),
      check_table<int64_t>(kOp, "image_indices", image_indices, {count}, boxes),
      matrices ? check_table<double>(kOp, "matrices", *matrices, {images, 3, 3}, boxes) : nullptr,
      check_table<int64_t>(kOp, "sizes", sizes, {images, 2}, boxes),
      check_regions(kOp, regions, boxes, images),
      limits.empty() ? nullptr : &some};
  const Tensor results = new_tensor(kOp, boxes.sizes(), ScalarType::Double, boxes);
  move_all(call, static_cast<TargetBox*>(results.mutable_data_ptr()));
  return results;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "move_boxes(Tensor boxes, Tensor image_indices, Tensor? matrices, Tensor sizes, "
      "Tensor? regions, float[] limits) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("move_boxes", TORCH_BOX(&orbbec::move_boxes)); }
