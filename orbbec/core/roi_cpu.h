// roi_align and its gradient on CPU threads, vectors over channels: the same arithmetic as
// core/roi.h's functor, sample by sample. Included by roi_align_cpu.cpp and
// roi_align_rotated_cpu.cpp.
#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "channel_blocks.h"
#include "executor_cpu.h"
#include "roi.h"

namespace orbbec {

#if defined(__x86_64__)
#define ORBBEC_AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw")))
#else
#define ORBBEC_AVX512
#endif
#define ORBBEC_INLINE __attribute__((always_inline))

// Images larger than this would make blocks of more than 64 MB.
constexpr int64_t kMaxBlockPixels = 1 << 18;

// The samples of a region that are not outside, found once for all channels.
template <class F, class Roi>
class RoiTaps {
 public:
  void prepare(const RoiFrame<F>& frame, const AnyImages& pooled, int height, int width) {
    frame_ = frame;
    height_ = height;
    width_ = width;
    bins_y = pooled.height;
    bins_x = pooled.width;
    count = frame.count;
  }

  template <class Visit>
  ORBBEC_HD void for_each(int ph, int pw, const Visit& visit) const {
    const SampleRange all{0, frame_.samples_y, 0, frame_.samples_x};
    Roi::for_each_tap(frame_, ph, pw, all, height_, width_, visit);
  }

  int bins_y, bins_x;
  F count;

 private:
  RoiFrame<F> frame_;
  int height_, width_;
};

// Rows and columns of samples are independent here.
template <class F>
class RoiTaps<F, UprightRoi> {
 public:
  void prepare(const RoiFrame<F>& frame, const AnyImages& pooled, int height, int width) {
    bins_y = pooled.height;
    bins_x = pooled.width;
    count = frame.count;
    rows_.prepare(frame.start_y, frame.bin_y, frame.samples_y, bins_y, height);
    columns_.prepare(frame.start_x, frame.bin_x, frame.samples_x, bins_x, width);
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

template <class F, int kBytes>
struct BlockVectors {
  typedef F Vector __attribute__((vector_size(kBytes), aligned(sizeof(F)), may_alias));
  static constexpr int kCount = kBlockBytes / kBytes;
};

// Rows of bins of a region that are taken at a time, so that large regions fit a cache too.
struct BinRows {
  int first, end;
};

inline int rows_a_tile(const AnyImages& pooled) {
  return std::max(1, std::min(pooled.height, 256 / pooled.width));
}

// visit(rows) for all rows of bins, a tile at a time.
template <class Visit>
void for_each_tile(const AnyImages& pooled, const Visit& visit) {
  const int step = rows_a_tile(pooled);
  for (int first = 0; first < pooled.height; first += step)
    visit(BinRows{first, std::min(first + step, pooled.height)});
}

// visit(ph, bins) for runs of evenly spaced bins: all rows at once, or each.
template <class T, class Visit>
void for_each_run(const BinRows& rows, const Image<T>& bins, const Visit& visit) {
  if (bins.stride_y == bins.width * bins.stride_x) {
    visit(rows.first, int64_t{rows.end - rows.first} * bins.width);
    return;
  }
  for (int ph = rows.first; ph < rows.end; ++ph) visit(ph, int64_t{bins.width});
}

// The means of rows of bins of a region in one block: tile [bins][block].
template <int kBytes, class F, class Taps>
ORBBEC_HD void mean_of_bins(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block,
                            F* tile) {
  using Vectors = BlockVectors<F, kBytes>;
  using Vector = typename Vectors::Vector;
  Vector* to = reinterpret_cast<Vector*>(tile);
  for (int ph = rows.first; ph < rows.end; ++ph) {
    for (int pw = 0; pw < taps.bins_x; ++pw, to += Vectors::kCount) {
      Vector sums[Vectors::kCount] = {};
      taps.for_each(ph, pw, [&](const RoiTap<F>& tap) ORBBEC_INLINE {
        const auto vectors = [&](int y, int x) ORBBEC_INLINE {
          return reinterpret_cast<const Vector*>(block.at(y, x));
        };
        const Vector* const upper_left = vectors(tap.low_y, tap.low_x);
        const Vector* const upper_right = vectors(tap.low_y, tap.high_x);
        const Vector* const lower_left = vectors(tap.high_y, tap.low_x);
        const Vector* const lower_right = vectors(tap.high_y, tap.high_x);
#pragma GCC unroll 16
        for (int v = 0; v < Vectors::kCount; ++v) {
          sums[v] += tap.upper_left * upper_left[v] + tap.upper_right * upper_right[v] +
                     tap.lower_left * lower_left[v] + tap.lower_right * lower_right[v];
        }
      });
#pragma GCC unroll 16
      for (int v = 0; v < Vectors::kCount; ++v) to[v] = sums[v] / taps.count;
    }
  }
}

// Adds the gradient of rows of bins of a region, tile [bins][block], to sums [pixels][block].
template <int kBytes, bool kByInverse, class F, class Taps>
ORBBEC_HD void add_bins(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width) {
  using Vectors = BlockVectors<F, kBytes>;
  using Vector = typename Vectors::Vector;
  const Vector* from = reinterpret_cast<const Vector*>(tile);
  const F inverse = F(1) / taps.count;
  for (int ph = rows.first; ph < rows.end; ++ph) {
    for (int pw = 0; pw < taps.bins_x; ++pw, from += Vectors::kCount) {
      Vector gradient[Vectors::kCount];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors::kCount; ++v) gradient[v] = from[v];
      taps.for_each(ph, pw, [&](const RoiTap<F>& tap) ORBBEC_INLINE {
        const auto add = [&](int y, int x, F weight) ORBBEC_INLINE {
          Vector* const to = reinterpret_cast<Vector*>(
              sums + (static_cast<int64_t>(y) * width + x) * kBlockChannels<F>);
#pragma GCC unroll 16
          for (int v = 0; v < Vectors::kCount; ++v) {
            const Vector share = gradient[v] * weight;
            to[v] += kByInverse ? share * inverse : share / taps.count;
          }
        };
        add(tap.low_y, tap.low_x, tap.upper_left);
        add(tap.low_y, tap.high_x, tap.upper_right);
        add(tap.high_y, tap.low_x, tap.lower_left);
        add(tap.high_y, tap.high_x, tap.lower_right);
      });
    }
  }
}

// The vector code of one level; a level's function must hold all that it calls.
template <class F, class Roi>
struct RoiVectors {
  using Taps = RoiTaps<F, Roi>;
  void (*means)(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block, F* tile);
  void (*add)(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width);
  void (*add_by_inverse)(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width);
};

template <class F, class Taps>
void means_plain(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block, F* tile) {
  mean_of_bins<16>(taps, rows, block, tile);
}
template <class F, class Taps>
ORBBEC_AVX2 void means_avx2(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block,
                            F* tile) {
  mean_of_bins<32>(taps, rows, block, tile);
}
template <class F, class Taps>
ORBBEC_AVX512 void means_avx512(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block,
                                F* tile) {
  mean_of_bins<64>(taps, rows, block, tile);
}

template <bool kByInverse, class F, class Taps>
void add_plain(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width) {
  add_bins<16, kByInverse>(taps, rows, tile, sums, width);
}
template <bool kByInverse, class F, class Taps>
ORBBEC_AVX2 void add_avx2(const Taps& taps, const BinRows& rows, const F* tile, F* sums,
                          int width) {
  add_bins<32, kByInverse>(taps, rows, tile, sums, width);
}
template <bool kByInverse, class F, class Taps>
ORBBEC_AVX512 void add_avx512(const Taps& taps, const BinRows& rows, const F* tile, F* sums,
                              int width) {
  add_bins<64, kByInverse>(taps, rows, tile, sums, width);
}

template <class F, class Roi>
RoiVectors<F, Roi> roi_vectors(Simd level) {
  using Taps = RoiTaps<F, Roi>;
  if (level == Simd::kAvx512)
    return {means_avx512<F, Taps>, add_avx512<false, F, Taps>, add_avx512<true, F, Taps>};
  if (level == Simd::kAvx2)
    return {means_avx2<F, Taps>, add_avx2<false, F, Taps>, add_avx2<true, F, Taps>};
  return {means_plain<F, Taps>, add_plain<false, F, Taps>, add_plain<true, F, Taps>};
}

template <class F, class Roi>
void make_roi_frames_cpu(const RoiArguments& a, const ParallelFor& parallel) {
  for_each_item_cpu(MakeRoiFrames<F, Roi>{a}, 1, static_cast<int>(a.pooled.count),
                    /*pixels_per_item=*/16, parallel);
}

// Work of one region in a block, in the pixels of executor_cpu.h.
inline int64_t pixels_a_region(const RoiArguments& a) {
  return int64_t{4} * a.pooled.height * a.pooled.width;
}

// Whether making blocks of all images costs less than reading them pixel by pixel.
template <class F>
bool blocks_pay(const RoiArguments& a, const RoiFrame<F>* frames) {
  const int64_t pixels = int64_t{a.features.height} * a.features.width;
  if (a.features.channels < kBlockChannels<F> / 4 || pixels > kMaxBlockPixels) return false;
  double samples = 0;
  for (int64_t k = 0; k < a.pooled.count; ++k)
    samples += double(frames[k].samples_y) * frames[k].samples_x;
  return samples * a.pooled.height * a.pooled.width > double(pixels) * a.features.count;
}

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
    make_roi_frames_cpu<F, Roi>(a_, parallel_);
    if (in_place_ || blocks_pay(a_, op_.frames)) {
      run_on_blocks();
    } else {
      for_each_pixel_cpu(op_, op_.shape(), parallel_);
    }
  }

 private:
  void run_on_blocks() const {
    const int height = a_.features.height, width = a_.features.width;
    const int64_t row = int64_t{width} * kBlockChannels<F>;
    std::optional<BlockBuffer<F>> made;
    if (!in_place_) {
      made.emplace(a_.features.count * blocks_ * height * width);
      parallel_(a_.features.count * blocks_ * height, kPixelsPerTask / row + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) make_row(i, made->data() + i * row);
                });
    }
    // Blocks outside, images inside: a core keeps one block of one image in its cache.
    const int64_t regions = a_.pooled.count;
    std::vector<int64_t> by_image(regions);
    std::iota(by_image.begin(), by_image.end(), 0);
    std::stable_sort(by_image.begin(), by_image.end(), [&](int64_t a, int64_t b) {
      return op_.frames[a].image < op_.frames[b].image;
    });
    const RoiVectors<F, Roi> vectors = roi_vectors<F, Roi>(simd_level());
    parallel_(blocks_ * regions, kPixelsPerTask / pixels_a_region(a_) + 1,
              [&](int64_t begin, int64_t end) {
                RoiTaps<F, Roi> taps;
                const BlockBuffer<F> tile(rows_a_tile(a_.pooled) * a_.pooled.width);
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t block = i / regions, k = by_image[i % regions];
                  const RoiFrame<F>& frame = op_.frames[k];
                  taps.prepare(frame, a_.pooled, height, width);
                  const ChannelBlock<F> source =
                      block_of(frame.image, block, made ? made->data() : nullptr);
                  for_each_tile(a_.pooled, [&](const BinRows& rows) {
                    vectors.means(taps, rows, source, tile.data());
                    write(k, block, rows, tile.data());
                  });
                }
              });
  }

  void make_row(int64_t i, F* row) const {
    const int y = static_cast<int>(i % a_.features.height);
    const int64_t block = i / a_.features.height % blocks_;
    const Image<const T> image = op_.features[i / a_.features.height / blocks_];
    const BlockChannels<F> channels(block, a_.features.channels);
    to_block<T, F>(&image.at(y, 0, channels.first), image.stride_x, image.stride_c, image.width,
                   channels.count, row);
  }

  ChannelBlock<F> block_of(int64_t image, int64_t block, const F* made) const {
    const int64_t row = int64_t{a_.features.width} * kBlockChannels<F>;
    if (!in_place_)
      return {made + (image * blocks_ + block) * a_.features.height * row, row, kBlockChannels<F>};
    if constexpr (std::is_same_v<T, F>) {
      const Image<const T> view = op_.features[image];
      const BlockChannels<F> channels(block, a_.features.channels);
      return {view.data + channels.first, view.stride_y, view.stride_x};
    }
    return {};
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

// The gradient of the feature maps. A task owns a block of channels of an image and adds to it what
// its regions give, in their order; so threads never share a sum.
template <class T, class Roi>
class RoiAlignBackwardCpu {
 public:
  using F = Compute<T>;

  RoiAlignBackwardCpu(const RoiArguments& arguments, const ParallelFor& parallel)
      : a_(arguments),
        parallel_(parallel),
        gradient_(arguments.pooled),
        features_(arguments.features),
        frames_(static_cast<const RoiFrame<F>*>(arguments.frames)),
        pixels_(int64_t{arguments.features.height} * arguments.features.width) {}

  void run() {
    make_roi_frames_cpu<F, Roi>(a_, parallel_);
    regions_.resize(a_.features.count);
    for (int64_t k = 0; k < a_.pooled.count; ++k) regions_[frames_[k].image].push_back(k);
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
      const BlockBuffer<F> tile(rows_a_tile(a_.pooled) * a_.pooled.width);
      RoiTaps<F, Roi> taps;
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(sums.data(), pixels_ * kBlockChannels<F>, F(0));
        const BlockChannels<F> channels(i % blocks, a_.features.channels);
        for (const int64_t k : regions_[i / blocks]) {
          taps.prepare(frames_[k], a_.pooled, a_.features.height, a_.features.width);
          const auto add = is_power_of_two(frames_[k].count) ? vectors.add_by_inverse : vectors.add;
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

  // Few channels, or many pixels.
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
    taps.prepare(frames_[k], a_.pooled, a_.features.height, a_.features.width);
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
  const RoiFrame<F>* const frames_;
  const int64_t pixels_;
  std::vector<std::vector<int64_t>> regions_;  // of each image, in their order
};

}  // namespace orbbec
