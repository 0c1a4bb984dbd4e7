// The gradient of roi_align on CPU threads. Included by roi_align_cpu.cpp and
// roi_align_rotated_cpu.cpp.
#pragma once

#include <vector>

#include "roi_vectors.h"

namespace orbbec {

// The gradient of the feature maps. A task owns a block of channels of an image and adds the
// contributions of its regions in order; threads never share a sum.
template <class T, class Roi>
class RoiAlignBackwardCpu {
 public:
  using F = Compute<T>;

  RoiAlignBackwardCpu(const RoiArguments& arguments, const ParallelFor& parallel)
      : a_(arguments),
        parallel_(parallel),
        gradient_(arguments.pooled),
        features_(arguments.features),
        geometries_(static_cast<const RoiGeometry<F>*>(arguments.geometries)),
        pixels_(int64_t{arguments.features.height} * arguments.features.width) {}

  void run() {
    make_roi_geometries_cpu<F, Roi>(a_, parallel_);
    regions_.resize(a_.features.count);
    for (int64_t k = 0; k < a_.pooled.count; ++k) regions_[geometries_[k].image].push_back(k);
    if (a_.features.channels < kBlockChannels<F> / 4 || pixels_ > kMaxBlockPixels) {
      run_on_planes();
    } else {
      run_on_blocks();
    }
  }

 private:
  void run_on_blocks() const {
    const int64_t blocks = block_count<F>(a_.features.channels);
    const RoiVectors<F, Roi> vectors = roi_vectors<F, Roi>(simd_level());
    parallel_(a_.features.count * blocks, 1, [&](int64_t begin, int64_t end) {
      const BlockBuffer<F> sums(pixels_);
      const BlockBuffer<F> tile(rows_per_tile(a_.pooled) * a_.pooled.width);
      RoiTaps<F, Roi> taps;
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(sums.data(), pixels_ * kBlockChannels<F>, F(0));
        const BlockChannels<F> channels(i % blocks, a_.features.channels);
        for (const int64_t k : regions_[i / blocks]) {
          taps.prepare(geometries_[k], a_.pooled, a_.features.height, a_.features.width);
          const auto add =
              is_power_of_two(geometries_[k].count) ? vectors.add_by_inverse : vectors.add;
          for_each_tile(a_.pooled, [&](const BinRows& rows) {
            read(k, channels, rows, tile.data());
            add(taps, rows, tile.data(), sums.data(), a_.features.width);
          });
        }
        write(i / blocks, channels, sums.data());
      }
    });
  }

  void read(int64_t k, const BlockChannels<F>& channels, const BinRows& rows, F* tile) const {
    const Image<const T> from = gradient_[k];
    for_each_run(rows, from, [&](int ph, int64_t bins) {
      to_block<T, F>(&from.at(ph, 0, channels.first), from.stride_x, from.stride_c, bins,
                     channels.count,
                     tile + int64_t{ph - rows.first} * from.width * kBlockChannels<F>);
    });
  }

  void write(int64_t n, const BlockChannels<F>& channels, const F* sums) const {
    const Image<T> target = features_[n];
    const int already = static_cast<int>(channels.written - channels.first);
    for (int y = 0; y < target.height; ++y) {
      from_block<T, F>(sums + int64_t{y} * target.width * kBlockChannels<F>, target.width, already,
                       channels.count, &target.at(y, 0, channels.first), target.stride_x,
                       target.stride_c);
    }
  }

  // For few channels or many pixels.
  void run_on_planes() const {
    parallel_(a_.features.count * a_.features.channels, 1, [&](int64_t begin, int64_t end) {
      std::vector<F> sums(pixels_);
      RoiTaps<F, Roi> taps;
      for (int64_t i = begin; i < end; ++i) {
        if (i > begin) std::fill(sums.begin(), sums.end(), F(0));
        const int64_t n = i / a_.features.channels, c = i % a_.features.channels;
        for (const int64_t k : regions_[n]) add_region(k, c, taps, sums.data());
        const Image<T> target = features_[n];
        for (int y = 0; y < target.height; ++y) {
          for (int x = 0; x < target.width; ++x)
            target.at(y, x, c) = store<T>(sums[int64_t{y} * target.width + x]);
        }
      }
    });
  }

  void add_region(int64_t k, int64_t c, RoiTaps<F, Roi>& taps, F* sums) const {
    taps.prepare(geometries_[k], a_.pooled, a_.features.height, a_.features.width);
    const Image<const T> from = gradient_[k];
    for (int ph = 0; ph < from.height; ++ph) {
      for (int pw = 0; pw < from.width; ++pw) {
        const F gradient = load<T>(from.at(ph, pw, c));
        taps.for_each(ph, pw, [&](const RoiTap<F>& tap) {
          const auto add = [&](int y, int x, F weight) {
            sums[int64_t{y} * a_.features.width + x] += gradient * weight / taps.count;
          };
          add(tap.low_y, tap.low_x, tap.upper_left);
          add(tap.low_y, tap.high_x, tap.upper_right);
          add(tap.high_y, tap.low_x, tap.lower_left);
          add(tap.high_y, tap.high_x, tap.lower_right);
        });
      }
    }
  }

  const RoiArguments& a_;
  const ParallelFor& parallel_;
  const Images<const T> gradient_;
  const Images<T> features_;
  const RoiGeometry<F>* const geometries_;
  const int64_t pixels_;
  std::vector<std::vector<int64_t>> regions_;  // of each image, in order
};

}  // namespace orbbec
