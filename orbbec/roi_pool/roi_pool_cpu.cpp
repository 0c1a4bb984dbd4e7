#include <vector>

#include "../core/executor_cpu.h"
#include "roi_pool.h"

namespace orbbec {
namespace {

template <class F>
void make_roi_pool_frames_cpu(const RoiArguments& a, const ParallelFor& parallel) {
  for_each_item_cpu(MakeRoiPoolFrames<F>{a}, 1, static_cast<int>(a.pooled.count),
                    /*pixels_per_item=*/16, parallel);
}

// The same sums as GatherRoiPoolGradient, region by region: a task owns a channel of an image.
template <class T>
void scatter_plane(const RoiPoolArguments& a, const std::vector<int64_t>& regions, int64_t n,
                   int64_t c, std::vector<Compute<T>>& sums) {
  const Images<const T> gradient(a.roi.pooled);
  const Images<const int32_t> argmax(a.argmax);
  const int64_t pixels = static_cast<int64_t>(sums.size());
  std::fill(sums.begin(), sums.end(), Compute<T>(0));
  for (const int64_t k : regions) {
    const Image<const T> bins = gradient[k];
    const Image<const int32_t> places = argmax[k];
    for (int ph = 0; ph < bins.height; ++ph) {
      for (int pw = 0; pw < bins.width; ++pw) {
        const int32_t where = places.at(ph, pw, c);
        if (where >= 0 && where < pixels) sums[where] += load<T>(bins.at(ph, pw, c));
      }
    }
  }
  const Image<T> target = Images<T>(a.roi.features)[n];
  for (int64_t i = 0; i < pixels; ++i)
    target.at(static_cast<int>(i / target.width), static_cast<int>(i % target.width), c) =
        store<T>(sums[i]);
}

template <class T>
void scatter_gradient(const RoiPoolArguments& a, const ParallelFor& parallel) {
  using F = Compute<T>;
  make_roi_pool_frames_cpu<F>(a.roi, parallel);
  const RoiPoolFrame<F>* const frames = static_cast<const RoiPoolFrame<F>*>(a.roi.frames);
  const AnyImages& features = a.roi.features;
  std::vector<std::vector<int64_t>> regions(features.count);  // of each image, in their order
  for (int64_t k = 0; k < a.roi.pooled.count; ++k) regions[frames[k].image].push_back(k);
  parallel(features.count * features.channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<F> sums(int64_t{features.height} * features.width);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / features.channels;
      scatter_plane<T>(a, regions[n], n, i % features.channels, sums);
    }
  });
}

}  // namespace

void roi_pool_cpu(const RoiPoolArguments& a, const ParallelFor& parallel) {
  dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    make_roi_pool_frames_cpu<Compute<T>>(a.roi, parallel);
    const RoiPool<T> op(a);
    for_each_pixel_cpu(op, op.shape(), parallel);
    return 0;
  });
}

void roi_pool_backward_cpu(const RoiPoolArguments& a, const ParallelFor& parallel) {
  dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    scatter_gradient<decltype(pixel)>(a, parallel);
    return 0;
  });
}

}  // namespace orbbec
