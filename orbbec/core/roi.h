// Regions of interest: where roi_align and roi_align_rotated sample a feature map, and with which
// weights. Included by core/roi_cpu.h, core/roi_cuda.h and the bindings of both operators.
//
// The order of every sum is that of torchvision's CPU operator: regions as they come, bins row by
// row, samples of a bin row by row, the four pixels of a sample from the upper left on.
#pragma once

#include "image.h"
#include "scalar.h"

namespace orbbec {

// float counts pixels exactly up to here.
constexpr int kMaxRoiSide = 1 << 24;

// Bins along an axis; times kMaxSamples of a kind of region, still what float counts exactly.
constexpr int kMaxRoiBins = 4096;

// A call whose types are known at run time only: filled by the binding, read by the dispatch.
struct RoiArguments {
  AnyImages features;  // [N, C, H, W]; in a backward pass their gradient
  AnyImages pooled;    // [K, C, PH, PW]; in a backward pass their gradient
  DType dtype;
  const void* rois;  // [K, 5], or [K, 6] of rotated ones, of the type that is computed in
  void* frames;      // [K] RoiFrame, scratch
  double spatial_scale;
  int sampling_ratio;  // 0: adaptive
  bool aligned;
};

// A region in pixels of the feature map.
template <class F>
struct RoiFrame {
  int image;                 // of the batch; -1: not in the batch
  int samples_y, samples_x;  // of a bin
  F count;                   // of samples of a bin, at least 1
  F start_y, start_x, bin_y, bin_x;
  F center_y, center_x, sine, cosine;  // of a rotated region, whose start is relative to its center
};

// A region may reach this far, in pixels, from the origin of the feature map; one that reaches
// further, or is not finite, has no samples. float counts in steps of 64 out there.
constexpr float kMaxRoiReach = 1 << 30;

template <class F>
ORBBEC_HD bool within_roi_reach(F start, F size) {
  return start >= -kMaxRoiReach && start <= kMaxRoiReach && size >= -kMaxRoiReach &&
         size <= kMaxRoiReach;
}

// Along an axis of a bin. Adaptive sampling stops at `most`, so that a region of any size, or an
// infinite one, is bounded work.
template <class F>
ORBBEC_HD int roi_samples(F size, int bins, int sampling_ratio, int most) {
  if (sampling_ratio > 0) return sampling_ratio;
  const F samples = ceil(size / F(bins));
  if (samples >= F(most)) return most;
  return samples > F(0) ? static_cast<int>(samples) : 0;  // NaN: 0
}

// Of sample i of bin p along an axis.
template <class F>
ORBBEC_HD F roi_position(F start, F bin, int samples, int p, int i) {
  return start + F(p) * bin + (F(i) + F(0.5)) * bin / F(samples);
}

template <class F>
ORBBEC_HD int roi_image(F index, int64_t count) {
  return count > 0 && index > F(-1) && index < F(count) ? static_cast<int>(index) : -1;
}

// The two pixels of an axis that a sample lies between; low is negative where it lies outside.
template <class F>
struct AxisSample {
  int low, high;
  F weight_low, weight_high;
};

// A sample less than a pixel outside reads the edge; one further out, or at NaN, is left out.
template <class F>
ORBBEC_HD AxisSample<F> axis_sample(F at, int size) {
  if (!(at >= F(-1) && at <= F(size))) return {-1, -1, F(0), F(0)};
  if (at <= F(0)) at = F(0);
  const int low = static_cast<int>(at);
  if (low >= size - 1) return {size - 1, size - 1, F(1), F(0)};
  const F past = at - F(low);
  return {low, low + 1, F(1) - past, past};
}

// What a sample reads: four pixels, two of which may be the same.
template <class F>
struct RoiTap {
  int low_y, high_y, low_x, high_x;
  F upper_left, upper_right, lower_left, lower_right;
};

template <class F>
ORBBEC_HD RoiTap<F> roi_tap(const AxisSample<F>& y, const AxisSample<F>& x) {
  return {y.low,
          y.high,
          x.low,
          x.high,
          y.weight_low * x.weight_low,
          y.weight_low * x.weight_high,
          y.weight_high * x.weight_low,
          y.weight_high * x.weight_high};
}

// The bins of a region and the samples in them.
template <class F>
ORBBEC_HD void set_bins(RoiFrame<F>& f, F height, F width, int most, const RoiArguments& a) {
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

// Samples of a bin: rows [first_y, end_y) and columns [first_x, end_x).
struct SampleRange {
  int first_y, end_y, first_x, end_x;
};

// Regions along the axes: [K, 5] of batch index, x1, y1, x2, y2.
struct UprightRoi {
  static constexpr int kNumbers = 5;
  static constexpr int kMaxSamples = 4096;

  template <class F>
  ORBBEC_HD static RoiFrame<F> frame(const F* roi, const RoiArguments& a) {
    const F scale = static_cast<F>(a.spatial_scale), shift = a.aligned ? F(0.5) : F(0);
    RoiFrame<F> f{};
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
  ORBBEC_HD static void for_each_tap(const RoiFrame<F>& f, int ph, int pw, const SampleRange& range,
                                     int height, int width, const Visit& visit) {
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
};

// Makes the frames of all regions: item k is region k.
template <class F, class Roi>
struct MakeRoiFrames {
  RoiArguments arguments;

  ORBBEC_HD void operator()(int64_t, int k) const {
    const F* const roi = static_cast<const F*>(arguments.rois) + int64_t{k} * Roi::kNumbers;
    RoiFrame<F> frame = Roi::frame(roi, arguments);
    frame.image = roi_image(roi[0], arguments.features.count);
    static_cast<RoiFrame<F>*>(arguments.frames)[k] = frame;
  }
};

// Then a quotient by it is the product with its inverse, to the last bit.
template <class F>
ORBBEC_HD bool is_power_of_two(F count) {
  const int whole = static_cast<int>(count);
  return (whole & (whole - 1)) == 0;
}

// The mean of the samples of a bin in one channel; NaN where the image is not in the batch.
template <class T, class Roi>
struct RoiAlign {
  using F = Compute<T>;

  Images<const T> features;
  Images<T> pooled;
  const RoiFrame<F>* frames;
  bool channels_last;  // whether neighbouring items are channels, or bins

  explicit RoiAlign(const RoiArguments& a)
      : features(a.features),
        pooled(a.pooled),
        frames(static_cast<const RoiFrame<F>*>(a.frames)),
        channels_last(a.features.stride_c == 1) {}

  ORBBEC_HD F mean(const RoiFrame<F>& frame, int ph, int pw, int64_t c) const {
    if (frame.image < 0) return F(NAN);
    const Image<const T> image = features[frame.image];
    F sum = 0;
    const SampleRange all{0, frame.samples_y, 0, frame.samples_x};
    Roi::for_each_tap(frame, ph, pw, all, image.height, image.width, [&](const RoiTap<F>& tap) {
      sum += tap.upper_left * load<T>(image.at(tap.low_y, tap.low_x, c)) +
             tap.upper_right * load<T>(image.at(tap.low_y, tap.high_x, c)) +
             tap.lower_left * load<T>(image.at(tap.high_y, tap.low_x, c)) +
             tap.lower_right * load<T>(image.at(tap.high_y, tap.high_x, c));
    });
    return sum / frame.count;
  }

  // An image is a region; its pixels are channels x bins, or bins x channels.
  AnyImages shape() const {
    AnyImages items{};
    items.count = pooled.count;
    items.height = channels_last ? pooled.height * pooled.width : static_cast<int>(pooled.channels);
    items.width = channels_last ? static_cast<int>(pooled.channels) : pooled.height * pooled.width;
    return items;
  }

  ORBBEC_HD void operator()(int64_t k, int row, int column) const {
    const int bin = channels_last ? row : column, c = channels_last ? column : row;
    const int ph = bin / pooled.width, pw = bin % pooled.width;
    pooled[k].at(ph, pw, c) = store<T>(mean(frames[k], ph, pw, c));
  }
};

// Calls `run` with a value of the pixel type. The binding lets no other dtype pass.
template <class Run>
int dispatch_roi_dtype(DType dtype, const Run& run) {
  switch (dtype) {
    case DType::kFloat16:
      return run(Half{});
    case DType::kBFloat16:
      return run(BFloat16{});
    case DType::kFloat64:
      return run(double{});
    default:
      return run(float{});
  }
}

}  // namespace orbbec
