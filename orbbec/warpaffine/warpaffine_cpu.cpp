#include "../core/warp_backward.h"
#include "warpaffine_rows.h"

namespace orbbec {
namespace {

template <class Op>
PixelRow<Op> row_for(Simd level) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<Op, LinearBytes> || std::is_same_v<Op, LinearFloats>) {
    if (level == Simd::kAvx512) return linear_row_avx512;
    if (level == Simd::kAvx2) return linear_row_avx2;
  }
#endif
  return pixel_row<Op>(level);
}

}  // namespace

void warp_affine_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<AffineMap>(arguments, [&](const auto& warp) {
    for_each_pixel_cpu(warp, warp.output, parallel, row_for<std::decay_t<decltype(warp)>>(simd_level()));
    return 0;
  });
}

void warp_affine_backward_cpu(const WarpBackwardArguments& arguments, const ParallelFor& parallel) {
  run_backward<AffineMap>(arguments, [&](const auto& op, int items, int64_t pixels_per_item) {
    for_each_item_cpu(op, arguments.warp.output.count, items, pixels_per_item, parallel);
    return 0;
  });
}

}  // namespace orbbec
