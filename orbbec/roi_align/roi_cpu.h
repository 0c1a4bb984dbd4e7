// roi_align on CPU threads. Included by roi_align_cpu.cpp and roi_align_rotated_cpu.cpp.
#pragma once

#include <numeric>
#include <vector>

#include "roi_vectors.h"

namespace orbbec {

// Reading one pixel directly costs as much as copying this many to a block.
constexpr int64_t kPixelsASample = 8;

// Channels summed together where pixels are read directly.
constexpr int kFewChannels = 8;

// The work of one region in a block, in the pixel units of executor_cpu.h.
inline int64_t pixels_a_region(const RoiArguments& a) {
  return int64_t{4} * a.pooled.height * a.pooled.width;
}

// The pixels that all regions read, if each region makes its own block.
template <class F>
double pixels_of_regions(const RoiArguments& a, const RoiGeometry<F>* geometries) {
  const auto along = [](F bin, int bins, int size) {
    return std::min(double(size), std::abs(double(bin)) * bins + 2);
  };
  double pixels = 0;
  for (int64_t k = 0; k < a.pooled.count; ++k) {
    const RoiGeometry<F>& f = geometries[k];
    const double samples = double(f.samples_y) * f.samples_x * a.pooled.height * a.pooled.width;
    pixels +=
        std::min(kPixelsASample * samples, along(f.bin_y, a.pooled.height, a.features.height) *
                                               along(f.bin_x, a.pooled.width, a.features.width));
  }
  return pixels;
}

// Three ways to the same bits: blocks of whole images, where regions read most of them; blocks of
// what each region reads; direct reads, where channels are few or samples far apart.
template <class T, class Roi>
class RoiAlignCpu {
 public:
  using F = Compute<T>;

  RoiAlignCpu(const RoiArguments& arguments, const ParallelFor& parallel)
      : a_(arguments),
        parallel_(parallel),
        op_(arguments),
        blocks_(block_count<F>(arguments.features.channels)),
        in_place_(std::is_same_v<T, F> && arguments.features.stride_c == 1 &&
                  arguments.features.channels >= kBlockChannels<F>) {}

  void run() const {
    make_roi_geometries_cpu<F, Roi>(a_, parallel_);
    const int64_t pixels = int64_t{a_.features.height} * a_.features.width;
    const bool most = !has_few_channels() && pixels <= kMaxBlockPixels &&
                      pixels_of_regions(a_, op_.geometries) > double(pixels) * a_.features.count;
    if (in_place_ || most) {
      run_on_images();
    } else {
      run_on_regions();
    }
  }

 private:
  bool has_few_channels() const { return a_.features.channels < kBlockChannels<F> / 4; }

  // Block by block, so that one block per image exists at a time; regions by image, so that a core
  // keeps one block in its cache.
  void run_on_images() const {
    const int64_t rows = a_.features.count * a_.features.height;
    const int64_t row = int64_t{a_.features.width} * kBlockChannels<F>;
    const BlockBuffer<F> buffer(in_place_ ? 0 : rows * a_.features.width);
    const std::vector<int64_t> by_image = regions_by_image();
    const RoiVectors<F, Roi> vectors = roi_vectors<F, Roi>(simd_level());
    for (int64_t block = 0; block < blocks_; ++block) {
      parallel_(in_place_ ? 0 : rows, kPixelsPerTask / (row + 1) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int y = static_cast<int>(i % a_.features.height);
                    make_row(i / a_.features.height, block, y, 0, a_.features.width,
                             buffer.data() + i * row);
                  }
                });
      parallel_(a_.pooled.count, kPixelsPerTask / pixels_a_region(a_) + 1,
                [&](int64_t begin, int64_t end) {
                  RoiTaps<F, Roi> taps;
                  const BlockBuffer<F> tile(rows_per_tile(a_.pooled) * a_.pooled.width);
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t k = by_image[i];
                    const RoiGeometry<F>& geometry = op_.geometries[k];
                    taps.prepare(geometry, a_.pooled, a_.features.height, a_.features.width);
                    pool(taps, vectors, block_of(geometry.image, block, buffer.data()), k, block,
                         tile.data());
                  }
                });
    }
  }

  std::vector<int64_t> regions_by_image() const {
    std::vector<int64_t> order(a_.pooled.count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return op_.geometries[a].image < op_.geometries[b].image;
    });
    return order;
  }

  void run_on_regions() const {
    const RoiVectors<F, Roi> vectors = roi_vectors<F, Roi>(simd_level());
    parallel_(a_.pooled.count * blocks_, kPixelsPerTask / pixels_a_region(a_) / 4 + 1,
              [&](int64_t begin, int64_t end) {
                RoiTaps<F, Roi> taps;
                const BlockBuffer<F> tile(rows_per_tile(a_.pooled) * a_.pooled.width);
                BlockBuffer<F> buffer;
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t k = i / blocks_, block = i % blocks_;
                  const RoiGeometry<F>& geometry = op_.geometries[k];
                  taps.prepare(geometry, a_.pooled, a_.features.height, a_.features.width);
                  const PixelBox box = box_of(taps);
                  if (has_few_channels() || box.pixels() > kPixelsASample * box.samples) {
                    pool_pixels(taps, k, block);
                    continue;
                  }
                  buffer.reserve(box.pixels());
                  const ChannelBlock<F> source =
                      block_of(box, geometry.image, block, buffer.data());
                  pool(taps, vectors, source, k, block, tile.data());
                }
              });
  }

  void make_row(int64_t n, int64_t block, int y, int left, int right, F* row) const {
    const Image<const T> image = op_.features[n];
    const BlockChannels<F> channels(block, a_.features.channels);
    to_block<T, F>(&image.at(y, left, channels.first), image.stride_x, image.stride_c, right - left,
                   channels.count, row);
  }

  // The pixels of its image that a region reads.
  ChannelBlock<F> block_of(const PixelBox& box, int64_t n, int64_t block, F* buffer) const {
    const int64_t row = int64_t{box.right - box.left} * kBlockChannels<F>;
    for (int y = box.top; y < box.bottom; ++y)
      make_row(n, block, y, box.left, box.right, buffer + (y - box.top) * row);
    return {buffer, row, kBlockChannels<F>, box.top * row + int64_t{box.left} * kBlockChannels<F>};
  }

  ChannelBlock<F> block_of(int64_t image, int64_t block, const F* buffer) const {
    const int64_t row = int64_t{a_.features.width} * kBlockChannels<F>;
    if (!in_place_) return {buffer + image * a_.features.height * row, row, kBlockChannels<F>, 0};
    if constexpr (std::is_same_v<T, F>) {
      const Image<const T> view = op_.features[image];
      const BlockChannels<F> channels(block, a_.features.channels);
      return {view.data + channels.first, view.stride_y, view.stride_x, 0};
    }
    return {};
  }

  void pool(const RoiTaps<F, Roi>& taps, const RoiVectors<F, Roi>& vectors,
            const ChannelBlock<F>& source, int64_t k, int64_t block, F* tile) const {
    for_each_tile(a_.pooled, [&](const BinRows& rows) {
      vectors.means(taps, rows, source, tile);
      write(k, block, rows, tile);
    });
  }

  void pool_pixels(const RoiTaps<F, Roi>& taps, int64_t k, int64_t block) const {
    const BlockChannels<F> channels(block, a_.features.channels);
    const int64_t end = channels.first + channels.count;
    const Image<const T> image = op_.features[op_.geometries[k].image];
    const Image<T> target = op_.pooled[k];
    for (int64_t c = channels.written; c < end; c += kFewChannels) {
      const int count = static_cast<int>(std::min<int64_t>(kFewChannels, end - c));
      for (int ph = 0; ph < target.height; ++ph) {
        for (int pw = 0; pw < target.width; ++pw) {
          F sums[kFewChannels] = {};
          taps.for_each(ph, pw, [&](const RoiTap<F>& tap) {
            const T* const upper_left = &image.at(tap.low_y, tap.low_x, c);
            const T* const upper_right = &image.at(tap.low_y, tap.high_x, c);
            const T* const lower_left = &image.at(tap.high_y, tap.low_x, c);
            const T* const lower_right = &image.at(tap.high_y, tap.high_x, c);
            for (int i = 0; i < count; ++i) {
              const int64_t at = i * image.stride_c;
              sums[i] += tap.upper_left * load<T>(upper_left[at]) +
                         tap.upper_right * load<T>(upper_right[at]) +
                         tap.lower_left * load<T>(lower_left[at]) +
                         tap.lower_right * load<T>(lower_right[at]);
            }
          });
          for (int i = 0; i < count; ++i) target.at(ph, pw, c + i) = store<T>(sums[i] / taps.count);
        }
      }
    }
  }

  void write(int64_t k, int64_t block, const BinRows& rows, const F* tile) const {
    const BlockChannels<F> channels(block, a_.features.channels);
    const Image<T> target = op_.pooled[k];
    const int already = static_cast<int>(channels.written - channels.first);
    for_each_run(rows, target, [&](int ph, int64_t bins) {
      from_block<T, F>(tile + int64_t{ph - rows.first} * target.width * kBlockChannels<F>, bins,
                       already, channels.count, &target.at(ph, 0, channels.first), target.stride_x,
                       target.stride_c);
    });
  }

  const RoiArguments& a_;
  const ParallelFor& parallel_;
  const RoiAlign<T, Roi> op_;
  const int64_t blocks_;
  const bool in_place_;
};

}  // namespace orbbec
