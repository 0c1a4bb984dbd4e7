// Rotated regions: [K, 6] of batch index, center x, center y, width, height, degrees
// counter-clockwise on screen. The rest of the arithmetic is roi_align/roi.h's. Included by
// roi_align_rotated_cpu.cpp, roi_align_rotated_cuda.cu and binding.cpp.
#pragma once

#include "../../core/elementary.h"
#include "../roi.h"

namespace orbbec {

struct RotatedRoi {
  static constexpr int kNumbers = 6;
  static constexpr int kMaxSamples =
      128;  // squared, because no row of samples can be skipped as a whole

  static bool scatters(const RoiArguments&) { return false; }

  template <class F>
  ORBBEC_HD static RoiGeometry<F> geometry(const F* roi, const RoiArguments& a) {
    const F scale = static_cast<F>(a.spatial_scale), shift = a.aligned ? F(0.5) : F(0);
    RoiGeometry<F> f{};
    f.center_x = roi[1] * scale - shift;
    f.center_y = roi[2] * scale - shift;
    F width = roi[3] * scale, height = roi[4] * scale;
    if (!a.aligned) {
      if (width < F(1)) width = F(1);
      if (height < F(1)) height = F(1);
    }
    f.start_x = -width / F(2);
    f.start_y = -height / F(2);
    double sine, cosine;
    sine_cosine_degrees(roi[5], sine, cosine);
    f.sine = static_cast<F>(sine);
    f.cosine = static_cast<F>(cosine);
    set_bins(f, height, width, kMaxSamples, a);
    return f;
  }

  // visit(y, x) for every sample of `range` of bin (ph, pw).
  template <class F, class Visit>
  ORBBEC_HD static void for_each_sample(const RoiGeometry<F>& f, int ph, int pw,
                                        const SampleRange& range, int height, int width,
                                        const Visit& visit) {
    for (int iy = range.first_y; iy < range.end_y; ++iy) {
      const F along_y = roi_position(f.start_y, f.bin_y, f.samples_y, ph, iy);
      for (int ix = range.first_x; ix < range.end_x; ++ix) {
        const F along_x = roi_position(f.start_x, f.bin_x, f.samples_x, pw, ix);
        const AxisSample<F> y =
            axis_sample(along_y * f.cosine - along_x * f.sine + f.center_y, height);
        const AxisSample<F> x =
            axis_sample(along_y * f.sine + along_x * f.cosine + f.center_x, width);
        visit(y, x);
      }
    }
  }

  // visit(tap) for those that are not outside.
  template <class F, class Visit>
  ORBBEC_HD static void for_each_tap(const RoiGeometry<F>& f, int ph, int pw,
                                     const SampleRange& range, int height, int width,
                                     const Visit& visit) {
    for_each_sample(f, ph, pw, range, height, width,
                    [&](const AxisSample<F>& row, const AxisSample<F>& column) {
                      if (row.low >= 0 && column.low >= 0) visit(roi_tap(row, column));
                    });
  }

  // visit(tap) for those that read pixel (y, x).
  template <class F, class Visit>
  ORBBEC_HD static void for_each_tap_of(int y, int x, const RoiGeometry<F>& f, int ph, int pw,
                                        const SampleRange& range, int height, int width,
                                        const Visit& visit) {
    for_each_sample(f, ph, pw, range, height, width,
                    [&](const AxisSample<F>& row, const AxisSample<F>& column) {
                      if (reads_pixel(row, y) && reads_pixel(column, x)) {
                        visit(roi_tap(row, column));
                      }
                    });
  }
};

}  // namespace orbbec
