// `warp_masks`: warps the masks of a batch where they lie, each set by the matrix of its image.
#include "../../bridge/matrices.h"

namespace orbbec {

void warp_masks_cpu(const std::vector<WarpArguments>& masks, const ParallelFor& parallel);

namespace {

constexpr const char* kOp = "warp_masks";

// Masks [..., H, W] as images whose channels are the bytes of a value, or as one image whose
// channels are masks of bytes.
AnyImages bytes_of_masks(const Tensor& masks, int64_t planes) {
  const int64_t bytes = masks.element_size();
  const int64_t height = masks.size(masks.dim() - 2), width = masks.size(masks.dim() - 1);
  check(height <= kMaxSide && width * bytes <= Stride::kMax, kOp,
        "expected masks with rows of at most 2147483647 bytes, but got ", shape_text(masks));
  const int64_t plane = height * width * bytes;
  const bool joins = bytes == 1;  // positions are computed once
  return {.data = const_cast<void*>(masks.const_data_ptr()),
          .count = joins ? 1 : planes,
          .channels = joins ? planes : bytes,
          .height = static_cast<int>(height),
          .width = static_cast<int>(width),
          .stride_n = plane,
          .stride_y = width * bytes,
          .stride_x = bytes,
          .stride_c = joins ? plane : 1,
          .layout = nullptr,
          .numel = 0,
          .regions = nullptr};
}

int64_t planes_of(const Tensor& masks, const Tensor& out) {
  check(masks.is_cpu() && masks.dim() >= 2 && masks.is_contiguous() &&
            masks.scalar_type() == out.scalar_type(),
        kOp, "expected contiguous masks [..., H, W] on the CPU, of the dtype of out, but got shape ",
        shape_text(masks));
  int64_t planes = 1;
  for (int64_t dim = 0; dim + 2 < masks.dim(); ++dim) planes *= masks.size(dim);
  return planes;
}

// The warps of one set of masks, into the planes of `out` from `first` on.
void add_warps(std::vector<WarpArguments>& warps, const WarpArguments& arguments,
               const std::vector<double>& fill, int64_t first) {
  for (int64_t n = 0; n < arguments.source.count; ++n) {
    WarpArguments a = arguments;
    a.source.data = static_cast<char*>(a.source.data) + n * a.source.stride_n;
    a.output.data = static_cast<char*>(a.output.data) + (first + n) * a.output.stride_n;
    a.source.count = a.output.count = 1;
    for_channel_groups(a, fill, 1, [&](const WarpArguments& group) { warps.push_back(group); });
  }
}

void warp_masks(std::vector<Tensor> masks, Tensor matrix, std::optional<Tensor> regions,
                std::string border, std::vector<double> fill, std::string arithmetic, Tensor out) {
  check(out.is_cpu() && out.dim() == 3 && out.is_contiguous(), kOp,
        "expected out as contiguous [M, H, W] on the CPU, but got shape ", shape_text(out));
  check_one_or_each(kOp, "fill", fill, out.element_size());
  WarpArguments shared{};
  shared.dtype = DType::kUInt8;
  shared.interpolation = Interpolation::kNearest;
  shared.border = parse_border(kOp, border);
  shared.arithmetic = parse_arithmetic(kOp, arithmetic);
  shared.source.count = static_cast<int64_t>(masks.size());
  check(shared.border != Border::kTransparent, kOp, "expected border other than transparent");
  const int64_t* const parts = check_regions(kOp, regions, out, shared.source.count);
  const Tensor matrices = prepare_matrices(kOp, out, matrix, 3, true, shared);
  std::vector<WarpArguments> warps;
  int64_t first = 0;
  for (size_t k = 0; k < masks.size(); ++k) {
    const int64_t planes = planes_of(masks[k], out);
    check(planes <= out.size(0) - first, kOp, "expected ", out.size(0), " masks, as out has");
    check_apart(kOp, out, masks[k], "masks");
    WarpArguments a = shared;
    a.source = bytes_of_masks(masks[k], planes);
    a.source.regions = parts == nullptr ? nullptr : parts + 4 * k;
    a.output = bytes_of_masks(out, planes);
    check_fixed_point_range(kOp, a);
    a.transform = static_cast<const char*>(shared.transform) +
                  static_cast<int64_t>(k) * shared.transform_stride * matrices.element_size();
    add_warps(warps, a, fill, first);
    first += planes;
  }
  check(first == out.size(0), kOp, "expected ", out.size(0), " masks, as out has, but got ", first);
  if (out.numel() > 0) warp_masks_cpu(warps, torch_threads());
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "warp_masks(Tensor[] masks, Tensor matrix, Tensor? regions, str border, float[] fill, "
      "str arithmetic, Tensor(a!) out) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) { m.impl("warp_masks", TORCH_BOX(&orbbec::warp_masks)); }
