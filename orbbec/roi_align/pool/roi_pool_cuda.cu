#include "../roi_gradient_cuda.h"
#include "roi_pool.h"

namespace orbbec {
namespace {

// The gradient of the feature maps: a value gathers from the bins whose maximum it is, region by
// region and bin by bin.
template <class T>
struct GatherRoiPoolGradient {
  using F = Compute<T>;
  using Pixel = T;
  // A bin that covers the pixel.
  struct Term {
    int64_t bin;  // its first channel in `gradient` and `argmax`
    int pixel;
  };

  const T* gradient;      // [regions, bins_y, bins_x, C]
  const int32_t* argmax;  // likewise
  int64_t regions;
  int bins_y, bins_x;
  Images<T> features;
  const RoiPoolGeometry<F>* geometries;

  explicit GatherRoiPoolGradient(const RoiPoolArguments& a)
      : gradient(static_cast<const T*>(a.roi.channels_last)),
        argmax(static_cast<const int32_t*>(a.argmax_channels_last)),
        regions(a.roi.pooled.count),
        bins_y(a.roi.pooled.height),
        bins_x(a.roi.pooled.width),
        features(a.roi.features),
        geometries(static_cast<const RoiPoolGeometry<F>*>(a.roi.geometries)) {}

  __device__ bool touches(int64_t k, int64_t n, int y, int x) const {
    const RoiPoolGeometry<F> f = geometries[k];
    return f.image == n && y < f.end_y && y + kRoiTileHeight > f.start_y && x < f.end_x &&
           x + kRoiTileWidth > f.start_x;
  }

  // visit(term) for every bin that contains pixel (y, x); a row is one of bins.
  template <class Visit, class NextRow>
  __device__ __forceinline__ bool for_each_term(int64_t k, int y, int x, int row,
                                                const Visit& visit, const NextRow& next_row) const {
    const RoiPoolGeometry<F> f = geometries[k];
    if (y < f.start_y || y >= f.end_y || x < f.start_x || x >= f.end_x) return true;
    // A margin of 1 bin covers the rounding of the quotient.
    const int first_y = bin_near(y - f.start_y, f.bin_y, -1, bins_y);
    const int last_y = bin_near(y - f.start_y + 1, f.bin_y, 1, bins_y);
    const int first_x = bin_near(x - f.start_x, f.bin_x, -1, bins_x);
    const int last_x = bin_near(x - f.start_x + 1, f.bin_x, 1, bins_x);
    for (int ph = first_y + row; ph <= last_y; ++ph) {
      const bool in_row = covers(bin_range(f.start_y, f.bin_y, ph, features.height), y);
      for (int pw = first_x; in_row && pw <= last_x; ++pw) {
        if (!covers(bin_range(f.start_x, f.bin_x, pw, features.width), x)) continue;
        visit(Term{((k * bins_y + ph) * bins_x + pw) * features.channels, y * features.width + x});
      }
      if (!next_row()) return false;
    }
    return true;
  }

  struct Value {
    int32_t argmax;
    F gradient;
  };
  __device__ __forceinline__ Value value(const Term& term, int64_t c) const {
    return {argmax[term.bin + c], load<T>(gradient[term.bin + c])};
  }

  __device__ __forceinline__ void add(const Term& term, const Value& value, F& sum) const {
    sum = value.argmax == term.pixel ? sum + value.gradient : sum;
  }

 private:
  __device__ __forceinline__ static bool covers(const BinRange& range, int at) {
    return at >= range.begin && at < range.end;
  }

  __device__ __forceinline__ static int bin_near(int pixels, F bin, int margin, int bins) {
    const F p = F(pixels) / bin + F(margin);
    return p > F(0) ? (p < F(bins - 1) ? static_cast<int>(p) : bins - 1) : 0;
  }
};

}  // namespace

template <class F>
int make_roi_pool_geometries_cuda(const RoiArguments& a, void* stream) {
  return for_each_item_cuda(MakeRoiPoolGeometries<F>{a}, 1, static_cast<int>(a.pooled.count),
                            stream);
}

int roi_pool_cuda(const RoiPoolArguments& a, void* stream) {
  return dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    const int status = make_roi_pool_geometries_cuda<Compute<T>>(a.roi, stream);
    const RoiPool<T> op(a);
    return status != 0 ? status : for_each_pixel_cuda(op, op.shape(), stream);
  });
}

int roi_pool_backward_cuda(const RoiPoolArguments& a, void* stream) {
  return dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    int status = make_roi_pool_geometries_cuda<Compute<T>>(a.roi, stream);
    if (status == 0 && a.roi.pooled.data != a.roi.channels_last) {
      status = to_channels_last_cuda<T>(a.roi.pooled, a.roi.channels_last, stream);
    }
    if (status == 0 && a.argmax.data != a.argmax_channels_last) {
      status = to_channels_last_cuda<int32_t>(a.argmax, a.argmax_channels_last, stream);
    }
    return status != 0 ? status : launch_roi_gradient(GatherRoiPoolGradient<T>(a), stream);
  });
}

}  // namespace orbbec
