#include <vector>

#include "../../core/perspective_transform.h"
#include "../../executors/warp_rows_cpu.h"
#include "../warp_backward_cpu.h"

namespace orbbec {
namespace {

// Warps of one image each, with outputs of one size.
template <class F, class Sampler>
void warp_nearest(const std::vector<WarpArguments>& every, const ParallelFor& parallel) {
  std::vector<Warp<uint8_t, PerspectiveTransform<F>, Sampler>> warps;
  for (const WarpArguments& a : every)
    warps.push_back(make_warp<uint8_t, PerspectiveTransform<F>, Sampler>(a));
  const AnyImages& output = every[0].output;
  const Simd level = simd_level();
  const auto write = [&](int64_t n, int top, int bottom) {
    write_warp_rows(warps[n], level, 0, top, bottom);
  };
  for_each_band_cpu(static_cast<int64_t>(warps.size()), output.height, output.width, parallel,
                    write);
}

}  // namespace

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<PerspectiveTransform>(arguments, [&](const auto& warp) {
    run_warp_cpu(warp, parallel);
    return 0;
  });
}

void warp_masks_cpu(const std::vector<WarpArguments>& masks, const ParallelFor& parallel) {
  if (masks[0].arithmetic == Arithmetic::kCv2_4) {
    warp_nearest<double, NearestFixedSampler>(masks, parallel);
  } else {
    warp_nearest<float, NearestSampler>(masks, parallel);
  }
}

void warp_perspective_backward_cpu(const WarpBackwardArguments& arguments,
                                   const ParallelFor& parallel) {
  run_backward_cpu<PerspectiveTransform>(arguments, parallel);
}

}  // namespace orbbec
