#include <vector>

#include "../../executors/executor_cpu.h"
#include "../blocked_channels.h"
#include "roi_pool.h"

namespace orbbec {
namespace {

template <class F>
void make_roi_pool_geometries_cpu(const RoiArguments& a, const ParallelFor& parallel) {
  for_each_item_cpu(MakeRoiPoolGeometries<F>{a}, 1, static_cast<int>(a.pooled.count),
                    /*pixels_per_item=*/16, parallel);
}

// The maxima of a bin in the channels of a block, and their indices.
template <class F>
struct LargestOfBlock {
  using Index = std::conditional_t<sizeof(F) == 8, int64_t, int32_t>;  // as wide as the value
  F* values;
  Index* indices;
};

template <int kBytes, class F>
ORBBEC_HD void find_largest(const LargestOfBlock<F>& to, const ChannelBlock<F>& block, BinRange ys,
                            BinRange xs, int width) {
  using Index = typename LargestOfBlock<F>::Index;
  using Values = BlockVectors<F, kBytes>;
  using Indices = BlockVectors<Index, kBytes>;
  const bool empty = ys.begin >= ys.end || xs.begin >= xs.end;
  typename Values::Vector largest[Values::kCount];
  typename Indices::Vector where[Values::kCount];
#pragma GCC unroll 16
  for (int v = 0; v < Values::kCount; ++v) {
    largest[v] = typename Values::Vector{} + (empty ? F(0) : kLowest<F>);
    where[v] = typename Indices::Vector{} - 1;
  }
  for (int y = ys.begin; y < ys.end; ++y) {
    for (int x = xs.begin; x < xs.end; ++x) {
      const auto* const from = reinterpret_cast<const typename Values::Vector*>(block.at(y, x));
      const typename Indices::Vector here = typename Indices::Vector{} + (Index{y} * width + x);
#pragma GCC unroll 16
      for (int v = 0; v < Values::kCount; ++v) {
        const auto larger = from[v] > largest[v];
        largest[v] = larger ? from[v] : largest[v];
        where[v] = larger ? here : where[v];
      }
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < Values::kCount; ++v) {
    reinterpret_cast<typename Values::Vector*>(to.values)[v] = largest[v];
    reinterpret_cast<typename Indices::Vector*>(to.indices)[v] = where[v];
  }
}

// Vectorized over channels, with the values of RoiPool: one block of all images at a time.
template <class T>
class RoiPoolOnBlocks {
 public:
  using F = Compute<T>;
  using Index = typename LargestOfBlock<F>::Index;

  RoiPoolOnBlocks(const RoiPoolArguments& a, const RoiPool<T>& op) : a_(a), op_(op) {}

  // Whether regions read so much that blocks are worth making.
  bool pays() const {
    const AnyImages& f = a_.roi.features;
    const int64_t pixels = int64_t{f.height} * f.width;
    if (f.channels < kBlockChannels<F> / 4 || pixels > kMaxBlockPixels) return false;
    double read = 0;
    for (int64_t k = 0; k < a_.roi.pooled.count; ++k) {
      read += std::min(double(op_.geometries[k].bin_y) * a_.roi.pooled.height, double(f.height)) *
              std::min(double(op_.geometries[k].bin_x) * a_.roi.pooled.width, double(f.width));
    }
    return read > double(pixels) * f.count;
  }

  void run(const ParallelFor& parallel) const {
    const AnyImages& f = a_.roi.features;
    const int64_t rows = f.count * f.height, row = int64_t{f.width} * kBlockChannels<F>;
    const BlockBuffer<F> buffer(rows * f.width);
    for (int64_t block = 0; block < block_count<F>(f.channels); ++block) {
      const BlockChannels<F> channels(block, f.channels);
      parallel(rows, kPixelsPerTask / row + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Image<const T> image = op_.features[i / f.height];
          to_block<T, F>(&image.at(static_cast<int>(i % f.height), 0, channels.first),
                         image.stride_x, image.stride_c, f.width, channels.count,
                         buffer.data() + i * row);
        }
      });
      parallel(a_.roi.pooled.count, 1, [&](int64_t begin, int64_t end) {
        const BlockBuffer<F> values(a_.roi.pooled.width);
        const BlockBuffer<Index> indices(a_.roi.pooled.width);
        for (int64_t k = begin; k < end; ++k) {
          const int64_t image = op_.geometries[k].image;
          const ChannelBlock<F> source{buffer.data() + image * f.height * row, row,
                                       kBlockChannels<F>, 0};
          pool(k, channels, source, {values.data(), indices.data()});
        }
      });
    }
  }

 private:
  void pool(int64_t k, const BlockChannels<F>& channels, const ChannelBlock<F>& source,
            const LargestOfBlock<F>& found) const {
    const auto find =
        compiled_to_avx512<find_largest<16, F>, find_largest<32, F>, find_largest<64, F>>(
            simd_level());
    const RoiPoolGeometry<F>& geometry = op_.geometries[k];
    const int height = a_.roi.features.height, width = a_.roi.features.width;
    const Image<T> target = op_.pooled[k];
    const Image<int32_t> argmax = op_.argmax[k];
    const int already = static_cast<int>(channels.written - channels.first);
    for (int ph = 0; ph < target.height; ++ph) {
      const BinRange ys = bin_range(geometry.start_y, geometry.bin_y, ph, height);
      for (int pw = 0; pw < target.width; ++pw) {
        const int64_t at = pw * kBlockChannels<F>;
        find({found.values + at, found.indices + at}, source, ys,
             bin_range(geometry.start_x, geometry.bin_x, pw, width), width);
      }
      from_block<T, F>(found.values, target.width, already, channels.count,
                       &target.at(ph, 0, channels.first), target.stride_x, target.stride_c);
      from_block<int32_t, Index>(found.indices, target.width, already, channels.count,
                                 &argmax.at(ph, 0, channels.first), argmax.stride_x,
                                 argmax.stride_c);
    }
  }

  const RoiPoolArguments& a_;
  const RoiPool<T>& op_;
};

// The sums of RoiPoolGradient, region by region: a task owns some channels of an image, whose bins
// it reads together.
template <class T>
class ScatterChannels {
 public:
  using F = Compute<T>;
  static constexpr int kChannels = 8;

  explicit ScatterChannels(const RoiPoolArguments& a)
      : gradient_(a.roi.pooled),
        argmax_(a.argmax),
        features_(a.roi.features),
        pixels_(int64_t{features_.height} * features_.width),
        sums_(kChannels * pixels_) {}

  void run(const std::vector<int64_t>& regions, int64_t n, int64_t first) {
    const int64_t end = std::min(first + kChannels, features_.channels);
    std::fill(sums_.begin(), sums_.end(), F(0));
    for (const int64_t k : regions) {
      for (int64_t c = first; c < end; ++c) add(k, c, sums_.data() + (c - first) * pixels_);
    }
    const Image<T> target = features_[n];
    for (int64_t c = first; c < end; ++c) {
      const F* from = sums_.data() + (c - first) * pixels_;
      for (int y = 0; y < target.height; ++y) {
        for (int x = 0; x < target.width; ++x) target.at(y, x, c) = store<T>(*from++);
      }
    }
  }

 private:
  void add(int64_t k, int64_t c, F* sums) const {
    const Image<const T> bins = gradient_[k];
    const Image<const int32_t> indices = argmax_[k];
    for (int ph = 0; ph < bins.height; ++ph) {
      const T* from = &bins.at(ph, 0, c);
      const int32_t* index = &indices.at(ph, 0, c);
      for (int pw = 0; pw < bins.width; ++pw, from += bins.stride_x, index += indices.stride_x) {
        if (*index >= 0 && *index < pixels_) sums[*index] += load<T>(*from);
      }
    }
  }

  const Images<const T> gradient_;
  const Images<const int32_t> argmax_;
  const Images<T> features_;
  const int64_t pixels_;
  std::vector<F> sums_;
};

template <class T>
void scatter_gradient(const RoiPoolArguments& a, const ParallelFor& parallel) {
  using F = Compute<T>;
  make_roi_pool_geometries_cpu<F>(a.roi, parallel);
  const RoiPoolGeometry<F>* const geometries =
      static_cast<const RoiPoolGeometry<F>*>(a.roi.geometries);
  const AnyImages& features = a.roi.features;
  std::vector<std::vector<int64_t>> regions(features.count);  // of each image, in order
  for (int64_t k = 0; k < a.roi.pooled.count; ++k) regions[geometries[k].image].push_back(k);
  constexpr int64_t kChannels = ScatterChannels<T>::kChannels;
  const int64_t groups = (features.channels + kChannels - 1) / kChannels;
  parallel(features.count * groups, 1, [&](int64_t begin, int64_t end) {
    ScatterChannels<T> scatter(a);
    for (int64_t i = begin; i < end; ++i)
      scatter.run(regions[i / groups], i / groups, i % groups * kChannels);
  });
}

}  // namespace

void roi_pool_cpu(const RoiPoolArguments& a, const ParallelFor& parallel) {
  dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    make_roi_pool_geometries_cpu<Compute<T>>(a.roi, parallel);
    const RoiPool<T> op(a);
    const RoiPoolOnBlocks<T> on_blocks(a, op);
    if (on_blocks.pays()) {
      on_blocks.run(parallel);
    } else {
      for_each_pixel_cpu(op, region_items(op.pooled, op.channels_last), parallel);
    }
  });
}

void roi_pool_backward_cpu(const RoiPoolArguments& a, const ParallelFor& parallel) {
  dispatch_roi_dtype(a.roi.dtype,
                     [&](auto pixel) { scatter_gradient<decltype(pixel)>(a, parallel); });
}

}  // namespace orbbec
