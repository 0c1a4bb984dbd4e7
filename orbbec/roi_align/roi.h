// Regions of interest: where roi_align and roi_align_rotated sample a feature map, and with which
// weights. Included by roi_align/roi_cpu.h, roi_align/roi_cuda.h and the bindings of both
// operators.
//
// Every sum is in the order of torchvision's CPU operator: regions as given, bins row by row,
// samples of a bin row by row, the four pixels of a sample from the upper left on.
#pragma once

#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

// float counts pixels exactly up to here.
constexpr int kMaxRoiSide = 1 << 24;

// Bins along an axis; times kMaxSamples of a region type, still exact in float.
constexpr int kMaxRoiBins = 4096;

// Channels that a CUDA thread reads at once, at most.
constexpr int kVectorChannels = 4;

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) ChannelVector {
  T values[kCount];
};

// A call whose dtypes are known only at run time: filled by the binding, read by the dispatch.
struct RoiArguments {
  AnyImages features;  // [N, C, H, W]; in a backward pass, their gradient
  AnyImages pooled;    // [K, C, PH, PW]; in a backward pass, their gradient
  DType dtype;
  const void* rois;  // [K, 5], or [K, 6] if rotated, in the computing dtype
  void* geometries;  // [K] RoiGeometry, scratch
  // CUDA, backward without UprightRoi::scatters: `pooled.data` if that is [K, PH, PW, C], otherwise
  // memory for it. A bin has `channels_last_stride` channels, a multiple of kVectorChannels.
  void* channels_last;
  int64_t channels_last_stride;
  double spatial_scale;
  int sampling_ratio;  // 0: adaptive
  bool aligned;
};

// A region in pixels of the feature map.
template <class F>
struct alignas(16) RoiGeometry {  // so that a GPU reads four numbers at once
  int image;                      // index in the batch; -1: out of range
  int samples_y, samples_x;       // per bin
  F count;                        // samples per bin, at least 1
  F start_y, start_x, bin_y, bin_x;
  F center_y, center_x, sine, cosine;  // of a rotated region, whose start is relative to its center
};

// The farthest a region may reach, in pixels from the origin of the feature map; one that reaches
// farther, or is not finite, has no samples. float counts in steps of 64 there.
constexpr float kMaxRoiReach = 1 << 30;

template <class F>
ORBBEC_HD bool within_roi_reach(F start, F size) {
  return start >= -kMaxRoiReach && start <= kMaxRoiReach && size >= -kMaxRoiReach &&
         size <= kMaxRoiReach;
}

// Samples along an axis of a bin. Adaptive sampling is limited to `most`, so that the work for a
// region of any size, even infinite, is bounded.
template <class F>
ORBBEC_HD int roi_samples(F size, int bins, int sampling_ratio, int most) {
  if (sampling_ratio > 0) return sampling_ratio;
  const F samples = ceil(size / F(bins));
  if (samples >= F(most)) return most;
  return samples > F(0) ? static_cast<int>(samples) : 0;  // NaN: 0
}

// The position of sample i of bin p along an axis.
template <class F>
ORBBEC_HD F roi_position(F start, F bin, int samples, int p, int i) {
  return start + F(p) * bin + (F(i) + F(0.5)) * bin / F(samples);
}

template <class F>
ORBBEC_HD int roi_image(F index, int64_t count) {
  return count > 0 && index > F(-1) && index < F(count) ? static_cast<int>(index) : -1;
}

// The two pixels of an axis around a sample; low is negative if it is outside.
template <class F>
struct AxisSample {
  int low, high;
  F weight_low, weight_high;
};

// A sample less than one pixel outside reads the edge; farther out, or at NaN, it is skipped.
template <class F>
ORBBEC_HD AxisSample<F> axis_sample(F at, int size) {
  if (!(at >= F(-1) && at <= F(size))) return {-1, -1, F(0), F(0)};
  if (at <= F(0)) at = F(0);
  const int low = static_cast<int>(at);
  if (low >= size - 1) return {size - 1, size - 1, F(1), F(0)};
  const F past = at - F(low);
  return {low, low + 1, F(1) - past, past};
}

// The four pixels that a sample reads, two of which may be equal.
template <class F>
struct RoiTap {
  int low_y, high_y, low_x, high_x;
  F upper_left, upper_right, lower_left, lower_right;
};

template <class F>
ORBBEC_HD RoiTap<F> roi_tap(const AxisSample<F>& y, const AxisSample<F>& x) {
  return {.low_y = y.low,
          .high_y = y.high,
          .low_x = x.low,
          .high_x = x.high,
          .upper_left = y.weight_low * x.weight_low,
          .upper_right = y.weight_low * x.weight_high,
          .lower_left = y.weight_high * x.weight_low,
          .lower_right = y.weight_high * x.weight_high};
}

// The value of a sample, from those of its pixels.
template <class F>
ORBBEC_HD F at_tap(const RoiTap<F>& tap, F upper_left, F upper_right, F lower_left, F lower_right) {
  return tap.upper_left * upper_left + tap.upper_right * upper_right + tap.lower_left * lower_left +
         tap.lower_right * lower_right;
}

// The bins of a region and their samples.
template <class F>
ORBBEC_HD void set_bins(RoiGeometry<F>& f, F height, F width, int most, const RoiArguments& a) {
  f.bin_y = height / F(a.pooled.height);
  f.bin_x = width / F(a.pooled.width);
  f.samples_y = roi_samples(height, a.pooled.height, a.sampling_ratio, most);
  f.samples_x = roi_samples(width, a.pooled.width, a.sampling_ratio, most);
  if (!within_roi_reach(f.start_y, height) || !within_roi_reach(f.start_x, width) ||
      !within_roi_reach(f.center_y, f.center_x) || !within_roi_reach(f.sine, f.cosine)) {
    f.samples_y = f.samples_x = 0;
  }
  const int samples = f.samples_y * f.samples_x;
  f.count = F(samples > 1 ? samples : 1);
}

// Whether a sample reads pixel p of an axis.
template <class F>
ORBBEC_HD bool reads_pixel(const AxisSample<F>& sample, int p) {
  return sample.low == p || sample.high == p;
}

// Samples of a bin: rows [first_y, end_y) and columns [first_x, end_x).
struct SampleRange {
  int first_y, end_y, first_x, end_x;
};

// Axis-aligned regions: [K, 5] of batch index, x1, y1, x2, y2.
struct UprightRoi {
  static constexpr int kNumbers = 5;
  static constexpr int kMaxSamples = 4096;

  // Whether CUDA's gradient adds samples to pixels, instead of gathering those of each pixel from
  // `channels_last`: where a warp can locate all samples of a region along an axis at once.
  static bool scatters(const RoiArguments& a) {
    constexpr int kMaxBins = 16;
    return a.sampling_ratio == 2 && a.pooled.height <= kMaxBins && a.pooled.width <= kMaxBins;
  }

  template <class F>
  ORBBEC_HD static RoiGeometry<F> geometry(const F* roi, const RoiArguments& a) {
    const F scale = static_cast<F>(a.spatial_scale), shift = a.aligned ? F(0.5) : F(0);
    RoiGeometry<F> f{};
    f.start_x = roi[1] * scale - shift;
    f.start_y = roi[2] * scale - shift;
    F width = roi[3] * scale - shift - f.start_x, height = roi[4] * scale - shift - f.start_y;
    if (!a.aligned) {
      if (width < F(1)) width = F(1);
      if (height < F(1)) height = F(1);
    }
    set_bins(f, height, width, kMaxSamples, a);
    f.cosine = F(1);
    return f;
  }

  // visit(tap) for every sample of `range` of bin (ph, pw) that is not outside.
  template <class F, class Visit>
  ORBBEC_HD static void for_each_tap(const RoiGeometry<F>& f, int ph, int pw,
                                     const SampleRange& range, int height, int width,
                                     const Visit& visit) {
    for (int iy = range.first_y; iy < range.end_y; ++iy) {
      const AxisSample<F> y =
          axis_sample(roi_position(f.start_y, f.bin_y, f.samples_y, ph, iy), height);
      if (y.low < 0) continue;
      for (int ix = range.first_x; ix < range.end_x; ++ix) {
        const AxisSample<F> x =
            axis_sample(roi_position(f.start_x, f.bin_x, f.samples_x, pw, ix), width);
        if (x.low >= 0) visit(roi_tap(y, x));
      }
    }
  }

  // The same for the samples that read pixel (y, x).
  template <class F, class Visit>
  ORBBEC_HD static void for_each_tap_of(int y, int x, const RoiGeometry<F>& f, int ph, int pw,
                                        const SampleRange& range, int height, int width,
                                        const Visit& visit) {
    for (int iy = range.first_y; iy < range.end_y; ++iy) {
      const AxisSample<F> row =
          axis_sample(roi_position(f.start_y, f.bin_y, f.samples_y, ph, iy), height);
      if (!reads_pixel(row, y)) continue;
      for (int ix = range.first_x; ix < range.end_x; ++ix) {
        const AxisSample<F> column =
            axis_sample(roi_position(f.start_x, f.bin_x, f.samples_x, pw, ix), width);
        if (reads_pixel(column, x)) visit(roi_tap(row, column));
      }
    }
  }
};

// Computes the geometry of all regions: item k is region k.
template <class F, class Roi>
struct MakeRoiGeometries {
  RoiArguments arguments;

  ORBBEC_HD void operator()(int64_t, int k) const {
    const F* const roi = static_cast<const F*>(arguments.rois) + int64_t{k} * Roi::kNumbers;
    RoiGeometry<F> geometry = Roi::geometry(roi, arguments);
    geometry.image = roi_image(roi[0], arguments.features.count);
    static_cast<RoiGeometry<F>*>(arguments.geometries)[k] = geometry;
  }
};

// Whether division by the count equals multiplication by its inverse, bit for bit.
template <class F>
ORBBEC_HD bool is_power_of_two(F count) {
  const int whole = static_cast<int>(count);
  return (whole & (whole - 1)) == 0;
}

// An image is a region; its pixels are channels x bins, or bins x channels.
inline AnyImages region_items(const AnyImages& pooled, bool channels_last) {
  AnyImages items{};
  const int bins = pooled.height * pooled.width, channels = static_cast<int>(pooled.channels);
  items.count = pooled.count;
  items.height = channels_last ? bins : channels;
  items.width = channels_last ? channels : bins;
  return items;
}

// The mean of the samples of a bin in one channel; NaN if the batch index is out of range.
template <class T, class Roi>
struct RoiAlign {
  using F = Compute<T>;

  Images<const T> features;
  Images<T> pooled;
  const RoiGeometry<F>* geometries;
  bool channels_last;  // whether neighboring items are channels or bins

  explicit RoiAlign(const RoiArguments& a)
      : features(a.features),
        pooled(a.pooled),
        geometries(static_cast<const RoiGeometry<F>*>(a.geometries)),
        channels_last(a.features.stride_c == 1) {}

  // Of a bin in `count` channels from c on, `step` apart.
  template <int kMax>
  ORBBEC_HD void means(const RoiGeometry<F>& geometry, int ph, int pw, int64_t c, int count,
                       int64_t step, F (&sums)[kMax]) const {
    if (geometry.image < 0) {
      for (int i = 0; i < kMax; ++i) sums[i] = F(NAN);
      return;
    }
    for (int i = 0; i < kMax; ++i) sums[i] = F(0);
    const Image<const T> image = features[geometry.image];
    const T* const plane = image.data + c * image.stride_c;
    const int64_t next = step * image.stride_c;
    const SampleRange all{0, geometry.samples_y, 0, geometry.samples_x};
    Roi::for_each_tap(geometry, ph, pw, all, image.height, image.width, [&](const RoiTap<F>& tap) {
      const T* const low = plane + tap.low_y * image.stride_y;
      const T* const high = plane + tap.high_y * image.stride_y;
      const T* upper_left = low + tap.low_x * image.stride_x;
      const T* upper_right = low + tap.high_x * image.stride_x;
      const T* lower_left = high + tap.low_x * image.stride_x;
      const T* lower_right = high + tap.high_x * image.stride_x;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int i = 0; i < kMax; ++i) {
        if (i >= count) break;
        sums[i] += at_tap(tap, load<T>(*upper_left), load<T>(*upper_right), load<T>(*lower_left),
                          load<T>(*lower_right));
        upper_left += next;
        upper_right += next;
        lower_left += next;
        lower_right += next;
      }
    });
    for (int i = 0; i < kMax; ++i) sums[i] /= geometry.count;
  }

  ORBBEC_HD void operator()(int64_t k, int row, int column) const {
    const int bin = channels_last ? row : column, c = channels_last ? column : row;
    const int ph = bin / pooled.width, pw = bin % pooled.width;
    F mean[1];
    means(geometries[k], ph, pw, c, 1, 1, mean);
    pooled[k].at(ph, pw, c) = store<T>(mean[0]);
  }
};

// Calls `run` with a value of the pixel type.
template <class Run>
auto dispatch_roi_dtype(DType dtype, const Run& run) {
  return dispatch_dtype<Half, BFloat16, double, float>(dtype, run);
}

}  // namespace orbbec
