#include <cstring>

#include "../bridge/pointwise.h"
#include "blends.h"
#include "gather.h"

namespace orbbec {

void gather_pixels_cpu(const GatherArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int gather_pixels_cuda(const GatherArguments& arguments, void* stream);
void blend_pixels_cpu(const BlendArguments& arguments, const ParallelFor& parallel);
void add_to_pairs_cpu(const SumArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int blend_pixels_cuda(const BlendArguments& arguments, void* stream);
[[gnu::weak]] int add_to_pairs_cuda(const SumArguments& arguments, void* stream);

namespace {

// [N, H, W] of the sizes of dense images, any strides.
AnyImages check_masks(const char* op, const Tensor& masks, const Tensor& images) {
  const std::vector<int64_t> shape{images.size(0), images.size(2), images.size(3)};
  check(masks.dim() == 3 && std::equal(shape.begin(), shape.end(), masks.sizes().begin()), op,
        "expected masks of shape ", shape_text(shape), ", but got ", shape_text(masks));
  check(same_device(masks, images), op, "expected masks on the device of images");
  AnyImages described{};
  described.data = const_cast<void*>(masks.const_data_ptr());
  described.count = masks.size(0);
  described.channels = 1;
  described.height = static_cast<int>(masks.size(1));
  described.width = static_cast<int>(masks.size(2));
  described.stride_n = masks.stride(0);
  described.stride_y = near_stride(op, "masks", masks, 1);
  described.stride_x = near_stride(op, "masks", masks, 2);
  described.stride_c = 1;
  return described;
}

void gather_pixels(const char* op, const GatherArguments& a, const Tensor& images) {
  run_where(op, images, gather_pixels_cpu, gather_pixels_cuda, a);
}

GatherArguments arguments_of(const char* op, Gather gather, const Tensor& images,
                             const std::optional<Tensor>& layout, int64_t channels) {
  GatherArguments a{};
  a.source = source_images(op, images, layout, channels);
  a.gather = gather;
  a.element_size = images.element_size();
  return a;
}

Tensor gather(const char* op, GatherArguments& a, const Tensor& images,
              const std::optional<Tensor>& layout) {
  const Tensor output = new_pointwise_output(op, images, layout, a.source);
  if (output.numel() == 0) return output;
  a.output = pointwise_output(op, output, layout, a.source.channels);
  gather_pixels(op, a, images);
  return output;
}

Tensor cutmix(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor pair_indices,
              Tensor boxes) {
  constexpr const char* kOp = "cutmix";
  GatherArguments a = arguments_of(kOp, Gather::kCutMix, images, layout, channels);
  a.pair_indices =
      check_table<int64_t>(kOp, "pair_indices", pair_indices, {a.source.count}, images);
  a.numbers = check_table<int64_t>(kOp, "boxes", boxes, {a.source.count, 4}, images);
  check_apart_from_output(kOp, "pair_indices", pair_indices);
  check_apart_from_output(kOp, "boxes", boxes);
  return gather(kOp, a, images, layout);
}

Tensor copy_paste(Tensor images, std::optional<Tensor> layout, int64_t channels,
                  Tensor pair_indices, Tensor masks, std::optional<Tensor> masks_layout) {
  constexpr const char* kOp = "copy_paste";
  GatherArguments a = arguments_of(kOp, Gather::kCopyPaste, images, layout, channels);
  a.pair_indices =
      check_table<int64_t>(kOp, "pair_indices", pair_indices, {a.source.count}, images);
  check(masks.scalar_type() == ScalarType::Byte, kOp, "expected masks of uint8");
  check(layout.has_value() == masks_layout.has_value(), kOp,
        "expected variable-size masks for variable-size images, and dense masks for dense images");
  if (layout.has_value()) {
    a.masks = ragged_images(kOp, masks, *masks_layout, 1);
    check(a.masks.count == a.source.count, kOp, "expected ", a.source.count, " masks, but got ",
          a.masks.count);
    check(same_device(masks, images), kOp, "expected masks on the device of images");
  } else {
    a.masks = check_masks(kOp, masks, images);
  }
  return gather(kOp, a, images, layout);
}

uint64_t fill_bits(DType dtype, double value) {
  uint64_t bits = 0;
  dispatch_any_dtype(dtype, [&](auto typed) {
    using T = decltype(typed);
    const T stored = store<T>(static_cast<Compute<T>>(value));
    memcpy(&bits, &stored, sizeof(stored));
    return 0;
  });
  return bits;
}

Tensor mosaic(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor pair_indices,
              Tensor centers, std::vector<int64_t> size, std::vector<double> fill,
              std::optional<Tensor> regions) {
  constexpr const char* kOp = "mosaic";
  const int64_t count = pair_indices.dim() == 2 ? pair_indices.size(0) : 0;
  const int64_t tiles = pair_indices.dim() == 2 && pair_indices.size(1) == 9 ? 9 : 4;
  const Gather gather_by = tiles == 9 ? Gather::kMosaic9 : Gather::kMosaic;
  GatherArguments a = arguments_of(kOp, gather_by, images, layout, channels);
  a.pair_indices = check_table<int64_t>(kOp, "pair_indices", pair_indices, {count, tiles}, images);
  a.numbers = check_table<int64_t>(kOp, "centers", centers, {count, 2}, images);
  a.regions = check_regions(kOp, regions, images, count);
  check_apart_from_output(kOp, "pair_indices", pair_indices);
  check_apart_from_output(kOp, "centers", centers);
  if (layout.has_value()) check_apart_from_output(kOp, "layout", *layout);
  if (regions.has_value()) check_apart_from_output(kOp, "regions", *regions);
  const int64_t numbers = static_cast<int64_t>(fill.size());
  check_one_or_each(kOp, "fill", fill, a.source.channels);
  check(numbers <= kMaxGatherFills, kOp, "expected fill of at most ", kMaxGatherFills,
        " numbers, but got ", numbers);
  for (int64_t c = 0; c < kMaxGatherFills; ++c) {
    a.fill[c] = fill_bits(dtype_of(kOp, images), fill[c < numbers ? c : 0]);
  }
  AnyImages canvas = a.source;
  canvas.count = count;
  const auto sides = output_size(kOp, canvas, size);
  const Tensor output = new_output(kOp, images, canvas, sides);
  if (output.numel() == 0) return output;
  a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
  gather_pixels(kOp, a, images);
  return output;
}

Tensor blend(const char* op, BlendArguments& a, const Tensor& images,
             const std::optional<Tensor>& layout) {
  a.dtype = dtype_of(op, images);
  const Tensor output = new_pointwise_output(op, images, layout, a.source);
  if (output.numel() == 0) return output;
  a.output = pointwise_output(op, output, layout, a.source.channels);
  run_where(op, images, blend_pixels_cpu, blend_pixels_cuda, a);
  return output;
}

Tensor mixup(Tensor images, std::optional<Tensor> layout, int64_t channels, Tensor pair_indices,
             Tensor weights) {
  constexpr const char* kOp = "mixup";
  BlendArguments a{};
  a.blend = Blend::kMixup;
  a.source = source_images(kOp, images, layout, channels);
  a.pair_indices =
      check_table<int64_t>(kOp, "pair_indices", pair_indices, {a.source.count}, images);
  a.weights = check_table<double>(kOp, "weights", weights, {a.source.count}, images);
  return blend(kOp, a, images, layout);
}

Tensor copy_paste_soft(Tensor images, Tensor pair_indices, Tensor masks) {
  constexpr const char* kOp = "copy_paste";
  BlendArguments a{};
  a.blend = Blend::kCopyPaste;
  a.source = source_images(kOp, images, std::nullopt, 0);
  a.pair_indices =
      check_table<int64_t>(kOp, "pair_indices", pair_indices, {a.source.count}, images);
  a.masks = check_masks(kOp, masks, images);
  const bool is_double = images.scalar_type() == ScalarType::Double;
  check(masks.scalar_type() == (is_double ? ScalarType::Double : ScalarType::Float), kOp,
        "expected soft masks of float32, of float64 for images of float64");
  return blend(kOp, a, images, std::nullopt);
}

AnyImages contributions_like(const Tensor& contribution, const Tensor& base) {
  constexpr const char* kOp = "add_to_pairs";
  check(contribution.scalar_type() == base.scalar_type() && same_device(contribution, base) &&
            contribution.dim() == 4 && base.dim() == 4 &&
            std::equal(base.sizes().begin(), base.sizes().end(), contribution.sizes().begin()),
        kOp, "expected parts of the shape, the dtype and the device of base");
  return dense_images(kOp, "parts", contribution, const_cast<void*>(contribution.const_data_ptr()));
}

Tensor add_to_pairs(Tensor base, Tensor contributions, Tensor order, Tensor starts) {
  constexpr const char* kOp = "add_to_pairs";
  SumArguments a{};
  a.base = source_images(kOp, base, std::nullopt, 0);
  a.contributions = contributions_like(contributions, base);
  a.dtype = dtype_of(kOp, base);
  a.order = check_table<int64_t>(kOp, "order", order, {a.base.count}, base);
  a.starts = check_table<int64_t>(kOp, "starts", starts, {a.base.count + 1}, base);
  const Tensor output = new_pointwise_output(kOp, base, std::nullopt, a.base);
  if (output.numel() == 0) return output;
  a.output = dense_images(kOp, "output", output, output.mutable_data_ptr());
  run_where(kOp, base, add_to_pairs_cpu, add_to_pairs_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "cutmix(Tensor images, Tensor? layout, int channels, Tensor pair_indices, Tensor boxes) -> "
      "Tensor");
  orbbec::define_with_out(
      m,
      "copy_paste(Tensor images, Tensor? layout, int channels, Tensor pair_indices, Tensor masks, "
      "Tensor? masks_layout) -> Tensor");
  orbbec::define_with_out(
      m,
      "mosaic(Tensor images, Tensor? layout, int channels, Tensor pair_indices, Tensor centers, "
      "int[] size, float[] fill, Tensor? regions) -> Tensor");
  orbbec::define_with_out(
      m,
      "mixup(Tensor images, Tensor? layout, int channels, Tensor pair_indices, Tensor weights) -> "
      "Tensor");
  orbbec::define_with_out(
      m, "copy_paste_soft(Tensor images, Tensor pair_indices, Tensor masks) -> Tensor");
  m.def("add_to_pairs(Tensor base, Tensor parts, Tensor order, Tensor starts) -> Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::cutmix)>(m, "cutmix");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::copy_paste)>(m, "copy_paste");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::mosaic)>(m, "mosaic");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::mixup)>(m, "mixup");
  orbbec::implement_with_out<TORCH_BOX(&orbbec::copy_paste_soft)>(m, "copy_paste_soft");
  m.impl("add_to_pairs", TORCH_BOX(&orbbec::add_to_pairs));
}
