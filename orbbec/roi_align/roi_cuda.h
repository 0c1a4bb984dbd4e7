// roi_align and its gradient on a CUDA device. Included by roi_align_cuda.cu and
// roi_align_rotated_cuda.cu.
#pragma once

#include "../executors/executor_cuda.h"
#include "roi.h"

namespace orbbec {

constexpr int kRoiThreads = kTileWidth * kTileHeight;  // per block, one pixel each

// Channels per thread: they share the cost of locating a region and stay in registers.
template <class F>
constexpr int kRoiChannels = 64 / sizeof(F);

template <class F, class Roi>
int make_roi_geometries_cuda(const RoiArguments& a, void* stream) {
  return for_each_item_cuda(MakeRoiGeometries<F, Roi>{a}, 1, static_cast<int>(a.pooled.count),
                            stream);
}

template <class T, class Roi>
int launch_roi_align_cuda(const RoiArguments& a, void* stream) {
  const int status = make_roi_geometries_cuda<Compute<T>, Roi>(a, stream);
  if (status != 0) return status;
  const RoiAlign<T, Roi> op(a);
  return for_each_pixel_cuda(op, op.shape(), stream);
}

// One axis of a region: all its samples, counted through its bins.
template <class F>
struct SampleAxis {
  F start, bin;
  int samples, bins;

  // The samples, first to last, that may lie within `reach` of `at`. The estimate errs by less than
  // one sample and a millionth of the largest position.
  __device__ __forceinline__ void near(F at, F reach, int& first, int& last) const {
    const int end = samples * bins;
    const F each = F(samples) / bin;
    const F middle = (at - start) * each - F(0.5);
    const F half = reach * (each < F(0) ? -each : each) + F(1);
    const F low = floor(middle - half), high = ceil(middle + half);
    // Comparisons with NaN are false and select all samples.
    first = low > F(0) ? (low < F(end) ? static_cast<int>(low) : end) : 0;
    last = high < F(end - 1) ? (high > F(-1) ? static_cast<int>(high) : -1) : end - 1;
  }
};

// The samples of bin p among samples first to last.
__device__ __forceinline__ int first_in_bin(int first, int samples, int p) {
  return first > p * samples ? first - p * samples : 0;
}
__device__ __forceinline__ int end_in_bin(int last, int samples, int p) {
  const int end = last - p * samples + 1;
  return end < samples ? end : samples;
}

// The gradient of the feature maps: each value gathers the contributions of the regions in the
// order of roi_align/roi.h, so no two threads add to the same value.
template <class T, class Roi>
struct GatherRoiGradient {
  using F = Compute<T>;
  using Pixel = T;
  static constexpr int kChannels = kRoiChannels<F>;

  Images<const T> gradient;
  Images<T> features;
  const RoiGeometry<F>* geometries;

  explicit GatherRoiGradient(const RoiArguments& a)
      : gradient(a.pooled),
        features(a.features),
        geometries(static_cast<const RoiGeometry<F>*>(a.geometries)) {}

  // A pixel in the region's own axes.
  __device__ __forceinline__ static void locate(const RoiGeometry<F>& f, F y, F x, F& along_y,
                                                F& along_x) {
    y -= f.center_y;
    x -= f.center_x;
    along_y = y * f.cosine + x * f.sine;
    along_x = x * f.cosine - y * f.sine;
  }

  // How far from a pixel, in the region's own axes, samples that read it may lie. An edge is read
  // from 1 pixel outside, and then the pixel next to it with weight 0: 2 pixels away.
  __device__ __forceinline__ F reach(const RoiGeometry<F>& f) const {
    const F largest = magnitude(f.center_y) + magnitude(f.center_x) + magnitude(f.start_y) +
                      magnitude(f.start_x) + magnitude(f.bin_y) * F(gradient.height) +
                      magnitude(f.bin_x) * F(gradient.width) + F(features.height) +
                      F(features.width);
    return F(2) * (magnitude(f.sine) + magnitude(f.cosine)) + F(1e-6) * largest;
  }

  __device__ __forceinline__ SampleAxis<F> axis_y(const RoiGeometry<F>& f) const {
    return {f.start_y, f.bin_y, f.samples_y, gradient.height};
  }
  __device__ __forceinline__ SampleAxis<F> axis_x(const RoiGeometry<F>& f) const {
    return {f.start_x, f.bin_x, f.samples_x, gradient.width};
  }

  // Whether a region may contribute to a tile of pixels with corner (y, x).
  __device__ bool touches(const RoiGeometry<F>& f, int64_t n, int y, int x) const {
    if (f.image != n) return false;
    constexpr F kHalfHeight = F(kTileHeight - 1) / 2, kHalfWidth = F(kTileWidth - 1) / 2;
    F along_y, along_x;
    locate(f, F(y) + kHalfHeight, F(x) + kHalfWidth, along_y, along_x);
    const F sine = magnitude(f.sine), cosine = magnitude(f.cosine), around = reach(f);
    int first, last;
    axis_y(f).near(along_y, around + kHalfHeight * cosine + kHalfWidth * sine, first, last);
    if (first > last) return false;
    axis_x(f).near(along_x, around + kHalfHeight * sine + kHalfWidth * cosine, first, last);
    return first <= last;
  }

  // Adds the contribution of region k to pixel (y, x) in `count` channels from `channel` on.
  __device__ void add_region(int64_t k, int y, int x, int64_t channel, int count,
                             F (&sums)[kChannels]) const {
    const RoiGeometry<F> f = geometries[k];
    const Image<const T> bins = gradient[k];
    const bool by_inverse = is_power_of_two(f.count);
    const F inverse = F(1) / f.count, around = reach(f);
    F along_y, along_x;
    locate(f, F(y), F(x), along_y, along_x);
    int first_y, last_y, first_x, last_x;
    axis_y(f).near(along_y, around, first_y, last_y);
    axis_x(f).near(along_x, around, first_x, last_x);
    if (first_y > last_y || first_x > last_x) return;
    for (int ph = first_y / f.samples_y; ph <= last_y / f.samples_y; ++ph) {
      for (int pw = first_x / f.samples_x; pw <= last_x / f.samples_x; ++pw) {
        const SampleRange range{
            first_in_bin(first_y, f.samples_y, ph), end_in_bin(last_y, f.samples_y, ph),
            first_in_bin(first_x, f.samples_x, pw), end_in_bin(last_x, f.samples_x, pw)};
        F values[kChannels];
        bool loaded = false;
        const auto add = [&](const RoiTap<F>& tap) {
          const bool low_y = tap.low_y == y, high_y = tap.high_y == y;
          const bool low_x = tap.low_x == x, high_x = tap.high_x == x;
          if (!((low_y || high_y) && (low_x || high_x))) return;
          if (!loaded) {
#pragma unroll
            for (int c = 0; c < kChannels; ++c)
              values[c] = c < count ? load<T>(bins.at(ph, pw, channel + c)) : F(0);
            loaded = true;
          }
          const F weights[4] = {tap.upper_left, tap.upper_right, tap.lower_left, tap.lower_right};
          const bool reads[4] = {low_y && low_x, low_y && high_x, high_y && low_x,
                                 high_y && high_x};
#pragma unroll
          for (int corner = 0; corner < 4; ++corner) {
            if (!reads[corner]) continue;
#pragma unroll
            for (int c = 0; c < kChannels; ++c) {
              const F contribution = values[c] * weights[corner];
              sums[c] += by_inverse ? contribution * inverse : contribution / f.count;
            }
          }
        };
        Roi::for_each_tap(f, ph, pw, range, features.height, features.width, add);
      }
    }
  }
};

// A block owns a tile of 32 x 8 pixels of an image in kChannels channels; a thread owns a pixel.
// The block tests kRoiThreads regions at a time, one per thread, and then all its threads walk
// those that touch the tile. 32 bytes of shared memory: one bit per region. A value of the gradient
// is read by the few pixels around its bin.
template <class Op>
__global__ void __launch_bounds__(kRoiThreads, 1) gather_roi_gradient_kernel(const Op op) {
  using F = typename Op::F;
  constexpr int kWarps = kRoiThreads / kWarp;
  __shared__ unsigned touching[kWarps];
  const int thread = threadIdx.y * kTileWidth + threadIdx.x;
  const int64_t chunks = (op.features.channels + Op::kChannels - 1) / Op::kChannels;
  const int tiles_x = (op.features.width + kTileWidth - 1) / kTileWidth;
  const int left = static_cast<int>(blockIdx.x % tiles_x) * kTileWidth;
  const int top = static_cast<int>(blockIdx.x / tiles_x) * kTileHeight;
  const int y = top + threadIdx.y, x = left + threadIdx.x;
  const bool inside = y < op.features.height && x < op.features.width;
  for (int64_t n = blockIdx.z; n < op.features.count; n += gridDim.z) {
    for (int64_t chunk = blockIdx.y; chunk < chunks; chunk += gridDim.y) {
      const int64_t channel = chunk * Op::kChannels, rest = op.features.channels - channel;
      const int count = rest < Op::kChannels ? static_cast<int>(rest) : Op::kChannels;
      F sums[Op::kChannels] = {};
      for (int64_t begin = 0; begin < op.gradient.count; begin += kRoiThreads) {
        const int64_t own = begin + thread;
        const bool touches =
            own < op.gradient.count && op.touches(op.geometries[own], n, top, left);
        const unsigned votes = __ballot_sync(kAllLanes, touches);
        __syncthreads();
        if (threadIdx.x == 0) touching[threadIdx.y] = votes;
        __syncthreads();
        for (int warp = 0; warp < kWarps; ++warp) {
          for (unsigned bits = touching[warp]; bits != 0; bits &= bits - 1) {
            const int64_t k = begin + warp * kWarp + __ffs(static_cast<int>(bits)) - 1;
            if (inside) op.add_region(k, y, x, channel, count, sums);
          }
        }
      }
      if (!inside) continue;
      const Image<typename Op::Pixel> target = op.features[n];
#pragma unroll
      for (int c = 0; c < Op::kChannels; ++c) {
        if (c < count) target.at(y, x, channel + c) = store<typename Op::Pixel>(sums[c]);
      }
    }
  }
}

template <class T, class Roi>
int launch_roi_gradient_cuda(const RoiArguments& a, void* stream) {
  using Op = GatherRoiGradient<T, Roi>;
  const int status = make_roi_geometries_cuda<Compute<T>, Roi>(a, stream);
  if (status != 0) return status;
  const int64_t tiles = ((int64_t{a.features.width} + kTileWidth - 1) / kTileWidth) *
                        ((int64_t{a.features.height} + kTileHeight - 1) / kTileHeight);
  const int64_t chunks = (a.features.channels + Op::kChannels - 1) / Op::kChannels;
  const dim3 grid(
      static_cast<unsigned>(tiles),
      static_cast<unsigned>(chunks < kMaxGridYZ ? chunks : kMaxGridYZ),
      static_cast<unsigned>(a.features.count < kMaxGridYZ ? a.features.count : kMaxGridYZ));
  return launch(gather_roi_gradient_kernel<Op>, grid, dim3(kTileWidth, kTileHeight), 0, stream,
                Op(a));
}

}  // namespace orbbec
