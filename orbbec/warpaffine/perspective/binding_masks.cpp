// `warp_masks`: warps the masks of a batch where they lie, each set by the matrix of its image.
#include "../../bridge/matrices.h"

namespace orbbec {

void warp_masks_cpu(const std::vector<WarpArguments>& masks, const ParallelFor& parallel);

namespace {

constexpr const char* kOp = "warp_masks";

struct MaskExtent {
  int64_t planes, height, width;
};

// Of masks [..., H, W].
MaskExtent extent_of_masks(const Tensor& masks, const Tensor& out) {
  const int64_t rank = masks.dim();
  check(masks.is_cpu() && rank >= 2 && masks.is_contiguous() &&
            masks.scalar_type() == out.scalar_type(),
        kOp,
        "expected contiguous masks [..., H, W] on the CPU, of the dtype of out, but got shape ",
        shape_text(masks));
  MaskExtent extent{1, masks.size(rank - 2), masks.size(rank - 1)};
  for (int64_t dim = 0; dim + 2 < rank; ++dim) extent.planes *= masks.size(dim);
  return extent;
}

// Masks as images whose channels are the bytes of a value, or as one image whose channels are masks
// of bytes, so that positions are computed once.
AnyImages images_of_masks(void* data, const MaskExtent& masks, int64_t bytes) {
  check(masks.height >= 0 && masks.height <= kMaxSide && masks.width >= 0 &&
            masks.width <= Stride::kMax / bytes,
        kOp, "expected masks with rows of at most 2147483647 bytes, but got ", masks.width,
        " values of ", bytes, " bytes");
  const int64_t plane = masks.height * masks.width * bytes;
  const bool joins = bytes == 1;
  return {.data = data,
          .count = joins ? 1 : masks.planes,
          .channels = joins ? masks.planes : bytes,
          .height = static_cast<int>(masks.height),
          .width = static_cast<int>(masks.width),
          .stride_n = plane,
          .stride_y = masks.width * bytes,
          .stride_x = bytes,
          .stride_c = joins ? plane : 1,
          .layout = nullptr,
          .numel = 0,
          .regions = nullptr};
}

// The warps of one set of masks.
void add_warps(std::vector<WarpArguments>& warps, const WarpArguments& arguments,
               const std::vector<double>& fill) {
  for (int64_t n = 0; n < arguments.source.count; ++n) {
    WarpArguments a = arguments;
    a.source.data = static_cast<char*>(a.source.data) + n * a.source.stride_n;
    a.output.data = static_cast<char*>(a.output.data) + n * a.output.stride_n;
    a.source.count = a.output.count = 1;
    for_channel_groups(a, fill, 1, [&](const WarpArguments& group) { warps.push_back(group); });
  }
}

// What all masks share.
WarpArguments shared_arguments(const std::string& border, const std::string& arithmetic,
                               int64_t count) {
  WarpArguments a{};
  a.dtype = DType::kUInt8;
  a.interpolation = Interpolation::kNearest;
  a.border = parse_border(kOp, border);
  a.arithmetic = parse_arithmetic(kOp, arithmetic);
  a.source.count = count;
  check(a.border != Border::kTransparent, kOp, "expected border other than transparent");
  return a;
}

void warp_masks(std::vector<Tensor> masks, std::vector<int64_t> rows, Tensor matrix, Tensor sizes,
                std::optional<Tensor> regions, Text border, std::vector<double> fill,
                Text arithmetic, Tensor out) {
  check(out.is_cpu() && out.dim() == 1 && out.is_contiguous(), kOp,
        "expected out as contiguous [values] on the CPU, but got shape ", shape_text(out));
  check(masks.size() == rows.size() && sizes.dim() == 2, kOp,
        "expected a row of sizes [N, 2] for each of ", masks.size(), " masks, but got ",
        rows.size());
  const int64_t count = sizes.size(0);
  const int64_t bytes = out.element_size();
  check_one_or_each(kOp, "fill", fill, bytes);
  WarpArguments shared = shared_arguments(border, arithmetic, count);
  const int64_t* const parts = check_regions(kOp, regions, out, count);
  const int64_t* const sides = check_table<int64_t>(kOp, "sizes", sizes, {count, 2}, out);
  const Tensor matrices = prepare_matrices(kOp, out, matrix, 3, true, shared);
  const auto* const transforms = static_cast<const char*>(shared.transform);
  std::vector<WarpArguments> warps;
  int64_t first = 0;
  for (size_t k = 0; k < masks.size(); ++k) {
    const int64_t row = rows[k];
    check(row >= 0 && row < count, kOp, "expected rows from 0 to ", count - 1, ", but got ", row);
    const MaskExtent extent = extent_of_masks(masks[k], out);
    const MaskExtent target{extent.planes, sides[2 * row], sides[2 * row + 1]};
    check_apart(kOp, out, masks[k], "masks");
    WarpArguments a = shared;
    a.source = images_of_masks(const_cast<void*>(masks[k].const_data_ptr()), extent, bytes);
    a.source.regions = parts == nullptr ? nullptr : parts + 4 * row;
    a.output =
        images_of_masks(static_cast<char*>(out.mutable_data_ptr()) + first * bytes, target, bytes);
    check_fixed_point_range(kOp, a);
    check(is_addressable({target.planes, target.height, target.width}) &&
              target.planes * target.height * target.width <= out.numel() - first,
          kOp, "expected out of as many values as the results have, but got ", out.numel());
    a.transform = transforms + row * shared.transform_stride * matrices.element_size();
    if (target.planes * target.height * target.width > 0) add_warps(warps, a, fill);
    first += target.planes * target.height * target.width;
  }
  check(first == out.numel(), kOp, "expected out of ", first, " values, but got ", out.numel());
  if (!warps.empty()) warp_masks_cpu(warps, torch_threads());
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_masks(Tensor[] masks, int[] rows, Tensor matrix, Tensor sizes, Tensor? regions, "
      "str border, float[] fill, str arithmetic, Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("warp_masks", TORCH_BOX(&orbbec::warp_masks)); }
