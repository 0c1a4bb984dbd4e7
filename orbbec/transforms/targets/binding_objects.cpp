// `label_objects`: the connected regions of one value in a mask. `cover_masks`, `join_masks`: the
// masks of objects, as bytes.
#include "binding_boxes.h"
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

const uint8_t* bytes_of(const char* op, const char* name, const Tensor& masks) {
  const ScalarType type = masks.scalar_type();
  check(masks.is_cpu() && masks.is_contiguous() &&
            (type == ScalarType::Byte || type == ScalarType::Bool),
        op, "expected ", name, " as contiguous uint8 or bool on the CPU, but got shape ",
        shape_text(masks));
  return static_cast<const uint8_t*>(masks.const_data_ptr());
}

void check_masks(const char* op, const Tensor& masks) {
  check(masks.dim() == 3, op, "expected masks of shape [K, H, W], but got ", shape_text(masks));
}

std::tuple<Tensor, Tensor> cover_masks(Tensor masks, Tensor cover, Tensor boxes,
                                       std::vector<double> limits) {
  constexpr const char* kCover = "cover_masks";
  check_masks(kCover, masks);
  const int64_t count = masks.size(0), height = masks.size(1), width = masks.size(2);
  const uint8_t* const from = bytes_of(kCover, "masks", masks);
  const uint8_t* const covered = bytes_of(kCover, "cover", cover);
  check(cover.dim() == 2 && cover.size(0) == height && cover.size(1) == width, kCover,
        "expected cover of shape ", shape_text(std::array<int64_t, 2>{height, width}), ", but got ",
        shape_text(cover));
  const Tensor left = new_tensor(kCover, masks.sizes(), masks.scalar_type(), masks);
  const auto* const before = reinterpret_cast<const TargetBox*>(
      check_table<double>(kCover, "boxes", boxes, {count, kTargetBoxNumbers}, masks));
  const BoxLimits some = checked_limits(kCover, limits);
  const Tensor fitted = new_tensor(kCover, boxes.sizes(), ScalarType::Double, boxes);
  auto* const to = static_cast<uint8_t*>(left.mutable_data_ptr());
  auto* const after = static_cast<TargetBox*>(fitted.mutable_data_ptr());
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = k * height * width;
    after[k] = before[k];
    fit_box(after[k], cover_mask(from + at, covered, height, width, to + at),
            limits.empty() ? nullptr : &some);
  }
  return {left, fitted};
}

Tensor join_masks(Tensor masks, std::vector<int64_t> rows) {
  constexpr const char* kJoin = "join_masks";
  check_masks(kJoin, masks);
  const uint8_t* const from = bytes_of(kJoin, "masks", masks);
  const int64_t pixels = masks.size(1) * masks.size(2);
  const Tensor joined = new_tensor(kJoin, std::array<int64_t, 2>{masks.size(1), masks.size(2)},
                                   ScalarType::Bool, masks);
  auto* const to = static_cast<uint8_t*>(joined.mutable_data_ptr());
  std::fill_n(to, pixels, uint8_t{0});
  for (const int64_t k : rows) {
    check(k >= 0 && k < masks.size(0), kJoin, "expected rows from 0 to ", masks.size(0) - 1,
          ", but got ", k);
    compiled_to_avx512<join_row>(simd_level())(from + k * pixels, pixels, to);
  }
  return joined;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("label_objects(Tensor mask) -> Tensor");
  m.def(
      "cover_masks(Tensor masks, Tensor cover, Tensor boxes, float[] limits) -> (Tensor, Tensor)");
  m.def("join_masks(Tensor masks, int[] rows) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("label_objects", TORCH_BOX(&orbbec::label_objects));
  m.impl("cover_masks", TORCH_BOX(&orbbec::cover_masks));
  m.impl("join_masks", TORCH_BOX(&orbbec::join_masks));
}
