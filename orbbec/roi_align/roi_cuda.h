// roi_align and its gradient on a CUDA device. Included by roi_align_cuda.cu and
// roi_align_rotated_cuda.cu.
#pragma once

#include "roi_gradient_cuda.h"

namespace orbbec {

template <class F, class Roi>
int make_roi_geometries_cuda(const RoiArguments& a, void* stream) {
  return for_each_item_cuda(MakeRoiGeometries<F, Roi>{a}, 1, static_cast<int>(a.pooled.count),
                            stream);
}

constexpr int kRoiAlignThreads = 256;
constexpr int kRoiChannels = 8;  // per thread: they share the taps

// A thread owns a bin in 8 channels. Lanes follow the bins and then the channels, 8 at a time; if
// channels come last in memory, lanes follow the channels, and those of a thread are far apart. No
// shared memory.
template <class T, class Roi>
__global__ void __launch_bounds__(kRoiAlignThreads, 1)
    roi_align_kernel(const RoiAlign<T, Roi> op, int bins, int64_t groups) {
  const int64_t channels = op.pooled.channels, items = bins * groups;
  const int64_t inner = op.channels_last ? groups : bins;
  for (int64_t k = blockIdx.y; k < op.pooled.count; k += gridDim.y) {
    for (int64_t item = int64_t{blockIdx.x} * kRoiAlignThreads + threadIdx.x; item < items;
         item += int64_t{gridDim.x} * kRoiAlignThreads) {
      const bool is_small = items <= 2147483647;  // a division of 64 bits takes 80 instructions
      const int64_t outer =
          is_small ? static_cast<int>(item) / static_cast<int>(inner) : item / inner;
      const int64_t rest = item - outer * inner;
      const int bin = static_cast<int>(op.channels_last ? outer : rest);
      const int64_t first = op.channels_last ? rest : outer * kRoiChannels;
      const int64_t step = op.channels_last ? groups : 1;
      const int64_t left =
          op.channels_last ? (channels - first + groups - 1) / groups : channels - first;
      const int count = left < kRoiChannels ? static_cast<int>(left) : kRoiChannels;
      const int ph = bin / op.pooled.width, pw = bin % op.pooled.width;
      typename RoiAlign<T, Roi>::F means[kRoiChannels];
      op.means(op.geometries[k], ph, pw, first, count, step, means);
      const Image<T> pooled = op.pooled[k];
#pragma unroll
      for (int i = 0; i < kRoiChannels; ++i) {
        if (i < count) pooled.at(ph, pw, first + i * step) = store<T>(means[i]);
      }
    }
  }
}

template <class T, class Roi>
int launch_roi_align_cuda(const RoiArguments& a, void* stream) {
  const int status = make_roi_geometries_cuda<Compute<T>, Roi>(a, stream);
  if (status != 0) return status;
  const int bins = a.pooled.height * a.pooled.width;
  const int64_t groups = (a.pooled.channels + kRoiChannels - 1) / kRoiChannels;
  const int64_t blocks = (bins * groups + kRoiAlignThreads - 1) / kRoiAlignThreads;
  constexpr int64_t kMaxBlocks = int64_t{1} << 30;
  const dim3 grid(static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks),
                  static_cast<unsigned>(a.pooled.count < kMaxGridYZ ? a.pooled.count : kMaxGridYZ));
  return launch(roi_align_kernel<T, Roi>, grid, dim3(kRoiAlignThreads), 0, stream,
                RoiAlign<T, Roi>(a), bins, groups);
}

// One axis of a region: all its samples, counted through its bins.
template <class F>
struct SampleAxis {
  F start, bin;
  int samples, bins;

  // The samples, first to last, that may lie within `reach` of `at`. The estimate errs by less than
  // one sample, or a sixteenth if there are few, and a millionth of the largest position.
  __device__ __forceinline__ void near(F at, F reach, int& first, int& last) const {
    const int end = samples * bins;
    const F each = F(samples) / bin;
    const F middle = (at - start) * each - F(0.5);
    const F half = reach * (each < F(0) ? -each : each) + (end > 1024 ? F(1) : F(0.0625));
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
  // A sample that reads the pixel. `scale` is the inverse of the samples per bin if that is exact,
  // else their number, negative.
  struct Term {
    int64_t bin;  // its first channel in `gradient`
    F weight, scale;
  };

  const T* gradient;  // [regions, bins_y, bins_x, C]
  int64_t regions;
  int bins_y, bins_x;
  Images<T> features;
  const RoiGeometry<F>* geometries;

  explicit GatherRoiGradient(const RoiArguments& a)
      : gradient(static_cast<const T*>(a.channels_last)),
        regions(a.pooled.count),
        bins_y(a.pooled.height),
        bins_x(a.pooled.width),
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

  // How far from a pixel, in the region's own axes, samples that read it may lie: `pixels`, which
  // is 1, or 2 if a coordinate is 1: an edge is read from 1 pixel outside, and then the pixel next
  // to it with weight 0.
  __device__ __forceinline__ F reach(const RoiGeometry<F>& f, F pixels) const {
    const F largest = magnitude(f.center_y) + magnitude(f.center_x) + magnitude(f.start_y) +
                      magnitude(f.start_x) + magnitude(f.bin_y) * F(bins_y) +
                      magnitude(f.bin_x) * F(bins_x) + F(features.height) + F(features.width);
    return pixels * (magnitude(f.sine) + magnitude(f.cosine)) + F(1e-6) * largest;
  }

  __device__ __forceinline__ SampleAxis<F> axis_y(const RoiGeometry<F>& f) const {
    return {f.start_y, f.bin_y, f.samples_y, bins_y};
  }
  __device__ __forceinline__ SampleAxis<F> axis_x(const RoiGeometry<F>& f) const {
    return {f.start_x, f.bin_x, f.samples_x, bins_x};
  }

  // Whether a region may contribute to a tile of pixels with corner (y, x).
  __device__ bool touches(int64_t k, int64_t n, int y, int x) const {
    const RoiGeometry<F> f = geometries[k];
    if (f.image != n) return false;
    constexpr F kHalfHeight = F(kRoiTileHeight - 1) / 2, kHalfWidth = F(kRoiTileWidth - 1) / 2;
    F along_y, along_x;
    locate(f, F(y) + kHalfHeight, F(x) + kHalfWidth, along_y, along_x);
    const F sine = magnitude(f.sine), cosine = magnitude(f.cosine), around = reach(f, F(2));
    int first, last;
    axis_y(f).near(along_y, around + kHalfHeight * cosine + kHalfWidth * sine, first, last);
    if (first > last) return false;
    axis_x(f).near(along_x, around + kHalfHeight * sine + kHalfWidth * cosine, first, last);
    return first <= last;
  }

  // visit(term) for every sample of region k that reads pixel (y, x); a row is one of samples of a
  // bin.
  template <class Visit, class NextRow>
  __device__ __forceinline__ bool for_each_term(int64_t k, int y, int x, int row,
                                                const Visit& visit, const NextRow& next_row) const {
    const RoiGeometry<F> f = geometries[k];
    const F around = reach(f, F(y == 1 || x == 1 ? 2 : 1));
    F along_y, along_x;
    locate(f, F(y), F(x), along_y, along_x);
    int first_y, last_y, first_x, last_x;
    axis_y(f).near(along_y, around, first_y, last_y);
    axis_x(f).near(along_x, around, first_x, last_x);
    if (first_y > last_y || first_x > last_x) return true;
    Term term;
    term.scale = is_power_of_two(f.count) ? F(1) / f.count : -f.count;
    for (int ph = first_y / f.samples_y; ph <= last_y / f.samples_y; ++ph) {
      for (int pw = first_x / f.samples_x; pw <= last_x / f.samples_x; ++pw) {
        const int first = first_in_bin(first_x, f.samples_x, pw);
        const int end = end_in_bin(last_x, f.samples_x, pw);
        term.bin = ((k * bins_y + ph) * bins_x + pw) * features.channels;
        const auto of_tap = [&](const RoiTap<F>& tap) {
          const bool low_y = tap.low_y == y, high_y = tap.high_y == y;
          const bool low_x = tap.low_x == x, high_x = tap.high_x == x;
          if (!((low_y || high_y) && (low_x || high_x))) return;
          const F weights[4] = {tap.upper_left, tap.upper_right, tap.lower_left, tap.lower_right};
          const bool reads[4] = {low_y && low_x, low_y && high_x, high_y && low_x,
                                 high_y && high_x};
#pragma unroll
          for (int corner = 0; corner < 4; ++corner) {
            if (!reads[corner]) continue;
            term.weight = weights[corner];
            visit(term);
          }
        };
        const int end_y = end_in_bin(last_y, f.samples_y, ph);
        for (int iy = first_in_bin(first_y, f.samples_y, ph); iy < end_y; ++iy) {
          if (row-- > 0) continue;
          Roi::for_each_tap_of(y, x, f, ph, pw, SampleRange{iy, iy + 1, first, end},
                               features.height, features.width, of_tap);
          if (!next_row()) return false;
        }
      }
    }
    return true;
  }

  using Value = F;
  __device__ __forceinline__ F value(const Term& term, int64_t c) const {
    return load<T>(gradient[term.bin + c]);
  }

  __device__ __forceinline__ void add(const Term& term, F value, F& sum) const {
    const F contribution = value * term.weight;
    sum += term.scale > F(0) ? contribution * term.scale : contribution / -term.scale;
  }
};

template <class T, class Roi>
int launch_roi_gradient_cuda(RoiArguments a, void* stream) {
  int status = make_roi_geometries_cuda<Compute<T>, Roi>(a, stream);
  if (status == 0 && a.pooled.data != a.channels_last) {
    status = to_channels_last_cuda<T>(a.pooled, a.channels_last, stream);
  }
  return status != 0 ? status : launch_roi_gradient(GatherRoiGradient<T, Roi>(a), stream);
}

}  // namespace orbbec
