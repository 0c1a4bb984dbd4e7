#include <algorithm>
#include <vector>

#include "../../core/perspective_transform.h"
#include "../../executors/warp_rows_cpu.h"
#include "../warp_backward_cpu.h"

namespace orbbec {
namespace {

// Warps of one image each. Threads share their pixels.
template <class F, class Sampler>
void warp_nearest(const std::vector<WarpArguments>& every, const ParallelFor& parallel) {
  std::vector<Warp<uint8_t, PerspectiveTransform<F>, Sampler>> warps;
  std::vector<int64_t> starts{0};  // the first row of each warp, and the end
  int64_t pixels = 0;
  for (const WarpArguments& a : every) {
    warps.push_back(make_warp<uint8_t, PerspectiveTransform<F>, Sampler>(a));
    starts.push_back(starts.back() + a.output.height);
    pixels += int64_t{a.output.height} * a.output.width;
  }
  const int64_t rows = starts.back(), grain = kPixelsPerTask * rows / pixels + 1;
  const Simd level = simd_level();
  parallel(rows, grain, [&](int64_t begin, int64_t end) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), begin);
    for (size_t k = next - starts.begin() - 1; begin < end; ++k) {
      const int64_t last = std::min(end, starts[k + 1]);
      write_warp_rows(warps[k], level, 0, static_cast<int>(begin - starts[k]),
                      static_cast<int>(last - starts[k]));
      begin = last;
    }
  });
}

}  // namespace

void warp_perspective_cpu(const WarpArguments& arguments, const ParallelFor& parallel) {
  dispatch_warp<PerspectiveTransform>(
      arguments, in_floats_only([&](const auto& warp) { run_warp_cpu(warp, parallel); }));
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
