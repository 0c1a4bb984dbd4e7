// The samples of a region as CPU threads visit them: located once for many channels, tile by tile
// of bins. Included by roi_align/roi_vectors.h.
#pragma once

#include <algorithm>
#include <vector>

#include "roi.h"

namespace orbbec {

// The samples of a region that are not outside, located once for all channels.
template <class F, class Roi>
class RoiTaps {
 public:
  void prepare(const RoiGeometry<F>& geometry, const AnyImages& pooled, int height, int width) {
    geometry_ = geometry;
    height_ = height;
    width_ = width;
    bins_y = pooled.height;
    bins_x = pooled.width;
    count = geometry.count;
  }

  template <class Visit>
  ORBBEC_HD void for_each(int ph, int pw, const Visit& visit) const {
    const SampleRange all{0, geometry_.samples_y, 0, geometry_.samples_x};
    Roi::for_each_tap(geometry_, ph, pw, all, height_, width_, visit);
  }

  int bins_y, bins_x;
  F count;

 private:
  RoiGeometry<F> geometry_;
  int height_, width_;
};

// Rows and columns of samples are independent here.
template <class F>
class RoiTaps<F, UprightRoi> {
 public:
  void prepare(const RoiGeometry<F>& geometry, const AnyImages& pooled, int height, int width) {
    bins_y = pooled.height;
    bins_x = pooled.width;
    count = geometry.count;
    rows_.prepare(geometry.start_y, geometry.bin_y, geometry.samples_y, bins_y, height);
    columns_.prepare(geometry.start_x, geometry.bin_x, geometry.samples_x, bins_x, width);
  }

  template <class Visit>
  ORBBEC_HD void for_each(int ph, int pw, const Visit& visit) const {
    for (const AxisSample<F>* y = rows_.begin(ph); y != rows_.begin(ph + 1); ++y) {
      for (const AxisSample<F>* x = columns_.begin(pw); x != columns_.begin(pw + 1); ++x)
        visit(roi_tap(*y, *x));
    }
  }

  int bins_y, bins_x;
  F count;

 private:
  struct Axis {
    std::vector<AxisSample<F>> samples;
    std::vector<size_t> first;  // of each bin

    const AxisSample<F>* begin(int bin) const { return samples.data() + first[bin]; }

    void prepare(F start, F bin, int samples_a_bin, int bins, int size) {
      samples.clear();
      first.clear();
      for (int p = 0; p < bins; ++p) {
        first.push_back(samples.size());
        for (int i = 0; i < samples_a_bin; ++i) {
          const AxisSample<F> sample =
              axis_sample(roi_position(start, bin, samples_a_bin, p, i), size);
          if (sample.low >= 0) samples.push_back(sample);
        }
      }
      first.push_back(samples.size());
    }
  };

  Axis rows_, columns_;
};

// The pixels that a region reads are in rows [top, bottom) and columns [left, right).
struct PixelBox {
  int top, left, bottom, right;
  int64_t samples;

  int64_t pixels() const { return samples > 0 ? int64_t{bottom - top} * (right - left) : 0; }
};

template <class Taps>
PixelBox box_of(const Taps& taps) {
  PixelBox box{.top = kMaxRoiSide, .left = kMaxRoiSide, .bottom = 0, .right = 0, .samples = 0};
  for (int ph = 0; ph < taps.bins_y; ++ph) {
    for (int pw = 0; pw < taps.bins_x; ++pw) {
      taps.for_each(ph, pw, [&](const auto& tap) {
        box.top = std::min(box.top, tap.low_y);
        box.left = std::min(box.left, tap.low_x);
        box.bottom = std::max(box.bottom, tap.high_y + 1);
        box.right = std::max(box.right, tap.high_x + 1);
        ++box.samples;
      });
    }
  }
  return box;
}

// Rows of bins of a region that are processed together, so that large regions fit a cache.
struct BinRows {
  int first, end;
};

inline int rows_per_tile(const AnyImages& pooled) {
  return std::max(1, std::min(pooled.height, 256 / pooled.width));
}

// visit(rows) for all rows of bins, a tile at a time.
template <class Visit>
void for_each_tile(const AnyImages& pooled, const Visit& visit) {
  const int step = rows_per_tile(pooled);
  for (int first = 0; first < pooled.height; first += step)
    visit(BinRows{first, std::min(first + step, pooled.height)});
}

// visit(ph, bins) for runs of evenly spaced bins: all rows at once, or row by row.
template <class T, class Visit>
void for_each_run(const BinRows& rows, const Image<T>& bins, const Visit& visit) {
  if (bins.stride_y == bins.width * bins.stride_x) {
    visit(rows.first, int64_t{rows.end - rows.first} * bins.width);
    return;
  }
  for (int ph = rows.first; ph < rows.end; ++ph) visit(ph, int64_t{bins.width});
}

}  // namespace orbbec
