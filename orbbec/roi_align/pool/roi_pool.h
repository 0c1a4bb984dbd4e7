// roi_pool: the maximum of each bin of a region, and its index. Included by roi_pool_cpu.cpp,
// roi_pool_cuda.cu and binding.cpp.
#pragma once

#include "../roi.h"

namespace orbbec {

struct RoiPoolArguments {
  RoiArguments roi;
  AnyImages argmax;  // int32, of the shape of roi.pooled: y * width + x, or -1
};

// One past the last pixel of bin p of an axis.
template <class F>
ORBBEC_HD int64_t bin_end(int start, F bin, int p) {
  return start + static_cast<int64_t>(ceil(F(p + 1) * bin));
}

// A region in whole pixels of the feature map.
template <class F>
struct RoiPoolGeometry {
  int image;  // index in the batch; -1: out of range
  int start_y, start_x;
  int end_y, end_x;  // one past the last pixel of the last bin
  F bin_y, bin_x;    // 0: a region that is not finite or too far away, whose bins are empty
};

template <class F>
struct MakeRoiPoolGeometries {
  RoiArguments arguments;

  ORBBEC_HD static F half_away_from_zero(F value) {
    const F whole = floor(value < F(0) ? -value : value);
    const F up = (value < F(0) ? -value : value) - whole >= F(0.5) ? whole + F(1) : whole;
    return value < F(0) ? -up : up;
  }

  ORBBEC_HD void operator()(int64_t, int k) const {
    const F* const roi = static_cast<const F*>(arguments.rois) + int64_t{k} * 5;
    const F scale = static_cast<F>(arguments.spatial_scale);
    RoiPoolGeometry<F> f{};
    f.image = roi_image(roi[0], arguments.features.count);
    const F x1 = roi[1] * scale, y1 = roi[2] * scale, x2 = roi[3] * scale, y2 = roi[4] * scale;
    if (within_roi_reach(x1, x2) && within_roi_reach(y1, y2)) {
      f.start_x = static_cast<int>(half_away_from_zero(x1));
      f.start_y = static_cast<int>(half_away_from_zero(y1));
      f.bin_x = pixels(f.start_x, x2) / F(arguments.pooled.width);
      f.bin_y = pixels(f.start_y, y2) / F(arguments.pooled.height);
      f.end_x = static_cast<int>(bin_end(f.start_x, f.bin_x, arguments.pooled.width - 1));
      f.end_y = static_cast<int>(bin_end(f.start_y, f.bin_y, arguments.pooled.height - 1));
    }
    static_cast<RoiPoolGeometry<F>*>(arguments.geometries)[k] = f;
  }

 private:
  // From `first` to `last` rounded, inclusive; at least 1.
  ORBBEC_HD static F pixels(int first, F last) {
    const int64_t count = static_cast<int64_t>(half_away_from_zero(last)) - first + 1;
    return static_cast<F>(count > 1 ? count : 1);
  }
};

// The initial value of a bin: torchvision's choice, the lowest float for every type.
template <class F>
constexpr F kLowest = F(-3.402823466e38f);

// Pixels [begin, end) of an axis that bin p covers.
struct BinRange {
  int begin, end;
};

template <class F>
ORBBEC_HD BinRange bin_range(int start, F bin, int p, int size) {
  const int64_t begin = start + static_cast<int64_t>(floor(F(p) * bin));
  return {clamp_to_size(begin, size), clamp_to_size(bin_end(start, bin, p), size)};
}

template <class T>
struct RoiPool {
  using F = Compute<T>;

  Images<const T> features;
  Images<T> pooled;
  Images<int32_t> argmax;
  const RoiPoolGeometry<F>* geometries;
  bool channels_last;  // whether neighboring items are channels or bins

  explicit RoiPool(const RoiPoolArguments& a)
      : features(a.roi.features),
        pooled(a.roi.pooled),
        argmax(a.argmax),
        geometries(static_cast<const RoiPoolGeometry<F>*>(a.roi.geometries)),
        channels_last(a.roi.features.stride_c == 1) {}

  ORBBEC_HD void operator()(int64_t k, int row, int column) const {
    const int bin = channels_last ? row : column, c = channels_last ? column : row;
    const int ph = bin / pooled.width, pw = bin % pooled.width;
    const RoiPoolGeometry<F> f = geometries[k];
    F largest = F(NAN);
    int where = -1;
    if (f.image >= 0) {
      const Image<const T> image = features[f.image];
      const BinRange ys = bin_range(f.start_y, f.bin_y, ph, image.height);
      const BinRange xs = bin_range(f.start_x, f.bin_x, pw, image.width);
      largest = ys.begin < ys.end && xs.begin < xs.end ? kLowest<F> : F(0);
      for (int y = ys.begin; y < ys.end; ++y) {
        const T* from = xs.begin < xs.end ? &image.at(y, xs.begin, c) : nullptr;
        for (int x = xs.begin; x < xs.end; ++x, from += image.stride_x) {
          const F value = load<T>(*from);
          if (value > largest) {
            largest = value;
            where = y * image.width + x;
          }
        }
      }
    }
    pooled[k].at(ph, pw, c) = store<T>(largest);
    argmax[k].at(ph, pw, c) = where;
  }
};

}  // namespace orbbec
