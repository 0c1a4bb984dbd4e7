// The gradient of roi_align and roi_align_rotated on a CUDA device, of any regions. Included by
// roi_align/roi_cuda.h.
//
// The terms of the sum of a pixel are the same in all channels: a block lists those of a tile of
// pixels, in the order of roi_align/roi.h, and adds them with lanes along the channels. No two
// threads add to the same value.
#pragma once

#include "channels_last_cuda.h"
#include "roi.h"

namespace orbbec {

constexpr int kRoiWarps = 4, kRoiThreads = kRoiWarps * kWarp;
constexpr int kRoiTileWidth = 8, kRoiTileHeight = kWarp / kRoiTileWidth;
constexpr int kRoiTermBytes = 128;  // of a pixel, which a warp lists at a time
constexpr int kRoiRegions = 192;    // which a block collects at a time
constexpr int kRoiLanes = 16;       // of a pixel when terms are added
constexpr int kRoiPixels = kRoiTileWidth * kRoiTileHeight * kRoiLanes / kRoiThreads;

// The samples of a region along one of its axes that read pixel (y, x): those within `half` of
// y * per_y + x * per_x + origin, counted through the bins.
template <class F>
struct SampleAxis {
  F per_y, per_x, origin, half;
  int samples;

  __device__ __forceinline__ F middle(F y, F x) const { return y * per_y + x * per_x + origin; }

  // `half` for all pixels that are so near to (y, x).
  __device__ __forceinline__ F within(F pixels_y, F pixels_x) const {
    return half + magnitude(per_y) * pixels_y + magnitude(per_x) * pixels_x;
  }

  // Comparisons with NaN are false and select all samples.
  __device__ __forceinline__ bool touches(F y, F x, F pixels_y, F pixels_x) const {
    const F at = middle(y, x), reach = within(pixels_y, pixels_x);
    return samples > 0 && !(at + reach < F(0)) && !(at - reach > F(samples - 1));
  }

  __device__ __forceinline__ void near(int y, int x, int& first, int& last) const {
    const F at = middle(F(y), F(x)), more = F(y == 1 || x == 1 ? 1 : 0);
    const F reach = within(more, more), low = ceil(at - reach), high = floor(at + reach);
    first = low > F(0) ? (low < F(samples) ? static_cast<int>(low) : samples) : 0;
    last = high < F(samples - 1) ? (high > F(-1) ? static_cast<int>(high) : -1) : samples - 1;
  }
};

template <class F>
struct CollectedRoi {
  SampleAxis<F> along_y, along_x;
  int number;  // from the first one that was searched
  F count;     // of samples per bin
};

// A sample that reads the pixel.
template <class F>
struct alignas(2 * sizeof(F)) RoiTerm {
  unsigned bin;  // from the first of the collected regions
  F weight;
};

// kIsUniform: all regions have `scale`.
template <class T, class RoiType, bool kUniform>
struct GatherRoiGradient {
  using Pixel = T;
  using Roi = RoiType;
  using F = Compute<T>;
  static constexpr bool kIsUniform = kUniform;
  static constexpr int kPerLane = 16 / sizeof(F), kChannels = kRoiLanes * kPerLane;
  static constexpr int kTerms = kRoiTermBytes / sizeof(RoiTerm<F>);

  const T* gradient;  // [regions, bins_y, bins_x, stride]
  unsigned stride;
  int64_t regions;
  int bins_y, bins_x;
  Images<T> features;
  const RoiGeometry<F>* geometries;
  F scale;  // the inverse of the samples per bin, if they are a power of two

  explicit GatherRoiGradient(const RoiArguments& a)
      : gradient(static_cast<const T*>(a.channels_last)),
        stride(static_cast<unsigned>(a.channels_last_stride)),
        regions(a.pooled.count),
        bins_y(a.pooled.height),
        bins_x(a.pooled.width),
        features(a.features),
        geometries(static_cast<const RoiGeometry<F>*>(a.geometries)),
        scale(F(1) / F(a.sampling_ratio) / F(a.sampling_ratio)) {}

  // Collects region k if it is one of image n that may contribute to the tile at (top, left).
  __device__ bool collect(int64_t k, int64_t n, int top, int left, CollectedRoi<F>& roi) const {
    const RoiGeometry<F> f = geometries[k];
    if (f.image != n) return false;
    const F largest = magnitude(f.center_y) + magnitude(f.center_x) + magnitude(f.start_y) +
                      magnitude(f.start_x) + magnitude(f.bin_y) * F(bins_y) +
                      magnitude(f.bin_x) * F(bins_x) + F(features.height) + F(features.width);
    const F reach = magnitude(f.sine) + magnitude(f.cosine) + F(2e-6) * largest;
    const F each_y = F(f.samples_y) / f.bin_y, each_x = F(f.samples_x) / f.bin_x;
    const F from_y = f.center_y * f.cosine + f.center_x * f.sine + f.start_y;
    const F from_x = f.center_x * f.cosine - f.center_y * f.sine + f.start_x;
    roi.along_y = axis(f.cosine * each_y, f.sine * each_y, from_y * each_y, reach * each_y,
                       f.samples_y * bins_y);
    roi.along_x = axis(-f.sine * each_x, f.cosine * each_x, from_x * each_x, reach * each_x,
                       f.samples_x * bins_x);
    roi.count = f.count;
    constexpr F kHalfHeight = F(kRoiTileHeight - 1) / 2, kHalfWidth = F(kRoiTileWidth - 1) / 2;
    const F y = F(top) + kHalfHeight, x = F(left) + kHalfWidth;
    return roi.along_y.touches(y, x, kHalfHeight + 1, kHalfWidth + 1) &&
           roi.along_x.touches(y, x, kHalfHeight + 1, kHalfWidth + 1);
  }

 private:
  // A sample lies less than a pixel from those that it reads, and less than two if a coordinate is
  // 1: an edge is read from 1 pixel outside, and then the pixel next to it with weight 0. The
  // estimate errs by less than a sixteenth of a sample, or one sample if there are many.
  __device__ static SampleAxis<F> axis(F per_y, F per_x, F from, F reach, int samples) {
    const F error = samples > 1024 ? F(1) : F(0.0625);
    return {per_y, per_x, F(-0.5) - from, magnitude(reach) + error, samples};
  }
};

// What a block shares.
template <class Op>
struct RoiGradientTile {
  using F = typename Op::F;
  CollectedRoi<F> regions[kRoiRegions];  // in order
  union {
    RoiTerm<F> terms[kRoiWarps][Op::kTerms][kWarp];
    F sums[kWarp][Op::kChannels + 16 / sizeof(F)];  // with space between the banks of pixels
  };
  F counts[Op::kIsUniform ? 1 : kRoiWarps][Op::kTerms][kWarp];
  int listed[kRoiWarps][kWarp];
  unsigned votes[kRoiWarps];
  bool done[kRoiWarps];
};

// Appends those of 128 regions that touch the tile to the `total` that are there.
template <class Op>
__device__ __forceinline__ int collect_regions(const Op& op, int64_t first, int64_t begin,
                                               int64_t n, int top, int left, int total,
                                               RoiGradientTile<Op>& tile) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int64_t region = begin + thread;
  CollectedRoi<typename Op::F> roi;
  const bool touches = region < op.regions && op.collect(region, n, top, left, roi);
  const unsigned votes = __ballot_sync(kAllLanes, touches);
  __syncthreads();
  if (lane == 0) tile.votes[warp] = votes;
  __syncthreads();
  int slot = total + __popc(votes & ((1u << lane) - 1));
#pragma unroll
  for (int w = 0; w < kRoiWarps; ++w) {
    const int count = __popc(tile.votes[w]);
    if (w < warp) slot += count;
    total += count;
  }
  roi.number = static_cast<int>(region - first);
  if (touches) tile.regions[slot] = roi;
  return total;
}

// Where a lane is in the terms of its pixel: at a sample of a bin of a region.
template <class Op>
struct RoiCursor {
  using F = typename Op::F;

  int next, end;  // collected regions
  bool is_open = false;
  int last_y, first_x, last_x;                 // samples of the region, in all bins
  int ph, pw, begin_y, end_y, begin_x, end_x;  // those of a bin; the last ones are the ends
  int sample_y, sample_x;
  RoiGeometry<F> f;

  // Goes to the first sample of the next region, if any may read the pixel.
  __device__ __forceinline__ bool open(const Op& op, const CollectedRoi<F>& roi, int64_t first,
                                       int y, int x) {
    int first_y;
    roi.along_y.near(y, x, first_y, last_y);
    roi.along_x.near(y, x, first_x, last_x);
    if (first_y > last_y || first_x > last_x) return false;
    f = op.geometries[first + roi.number];
    ph = first_y / f.samples_y;
    pw = first_x / f.samples_x;
    enter(begin_y, end_y, sample_y, first_y, ph * f.samples_y + f.samples_y - 1, last_y);
    enter(begin_x, end_x, sample_x, first_x, pw * f.samples_x + f.samples_x - 1, last_x);
    return true;
  }

  // Goes to the next sample; false after the last one.
  __device__ __forceinline__ bool advance() {
    if (++sample_x <= end_x) return true;
    sample_x = begin_x;
    if (++sample_y <= end_y) return true;
    sample_y = begin_y;
    if (end_x < last_x) {
      ++pw;
      enter(begin_x, end_x, sample_x, end_x + 1, end_x + f.samples_x, last_x);
      return true;
    }
    if (end_y == last_y) return false;
    ++ph;
    enter(begin_y, end_y, sample_y, end_y + 1, end_y + f.samples_y, last_y);
    pw = first_x / f.samples_x;
    enter(begin_x, end_x, sample_x, first_x, pw * f.samples_x + f.samples_x - 1, last_x);
    return true;
  }

 private:
  __device__ __forceinline__ static void enter(int& begin, int& end, int& sample, int first,
                                               int last_of_bin, int last) {
    begin = sample = first;
    end = smaller(last_of_bin, last);
  }
};

// Lists terms of pixel (y, x), as many as fit.
template <class Op>
__device__ __forceinline__ int list_terms(const Op& op, int64_t first, int y, int x, int listed,
                                          RoiCursor<Op>& at, RoiGradientTile<Op>& tile) {
  using F = typename Op::F;
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  while (at.next < at.end && listed <= Op::kTerms - 4) {
    const CollectedRoi<F>& roi = tile.regions[at.next];
    if (!at.is_open) {
      at.is_open = at.open(op, roi, first, y, x);
      if (!at.is_open) {
        ++at.next;
        continue;
      }
    }
    const int iy = at.sample_y - at.ph * at.f.samples_y, ix = at.sample_x - at.pw * at.f.samples_x;
    const unsigned bin =
        static_cast<unsigned>((roi.number * op.bins_y + at.ph) * op.bins_x + at.pw);
    // Usually one of the four pixels is (y, x); at an edge two or four are.
    const auto list_tap = [&](const RoiTap<F>& tap) {
      for (int low_y = tap.low_y == y ? 1 : 0; low_y >= (tap.high_y == y ? 0 : 1); --low_y) {
        for (int low_x = tap.low_x == x ? 1 : 0; low_x >= (tap.high_x == x ? 0 : 1); --low_x) {
          const F upper = low_x != 0 ? tap.upper_left : tap.upper_right;
          const F lower = low_x != 0 ? tap.lower_left : tap.lower_right;
          tile.terms[warp][listed][lane] = {bin, low_y != 0 ? upper : lower};
          if constexpr (!Op::kIsUniform) tile.counts[warp][listed][lane] = roi.count;
          ++listed;
        }
      }
    };
    Op::Roi::for_each_tap_of(y, x, at.f, at.ph, at.pw, SampleRange{iy, iy + 1, ix, ix + 1},
                             op.features.height, op.features.width, list_tap);
    at.is_open = at.advance();
    if (!at.is_open) ++at.next;
  }
  return listed;
}

// Adds the terms of a pixel that a warp listed. Values are read for four terms at a time, since a
// read waits for memory.
template <class Op>
__device__ __forceinline__ void add_terms(const Op& op, const typename Op::Pixel* rows, int warp,
                                          int pixel, const RoiGradientTile<Op>& tile,
                                          typename Op::F (&sums)[Op::kPerLane]) {
  using T = typename Op::Pixel;
  using F = typename Op::F;
  constexpr int kTermsAtOnce = 4, kPerLane = Op::kPerLane;
  const int listed = tile.listed[warp][pixel];
  for (int t = 0; t < listed; t += kTermsAtOnce) {
    RoiTerm<F> terms[kTermsAtOnce];
    ChannelVector<T, kPerLane> values[kTermsAtOnce];
#pragma unroll
    for (int i = 0; i < kTermsAtOnce; ++i) {
      const RoiTerm<F>& term = tile.terms[warp][smaller(t + i, listed - 1)][pixel];
      terms[i] = {term.bin, term.weight};  // not the padding, which is not written
      values[i] = *reinterpret_cast<const ChannelVector<T, kPerLane>*>(
          rows + static_cast<uint64_t>(terms[i].bin) * op.stride);
    }
#pragma unroll
    for (int i = 0; i < kTermsAtOnce; ++i) {
      if (t + i >= listed) break;
      const F weight = terms[i].weight;
      const F count = Op::kIsUniform ? F(1) : tile.counts[warp][t + i][pixel];
      if (Op::kIsUniform || is_power_of_two(count)) {
        const F scale = Op::kIsUniform ? op.scale : F(1) / count;
#pragma unroll
        for (int c = 0; c < kPerLane; ++c) {
          sums[c] += load<T>(values[i].values[c]) * weight * scale;
        }
      } else {
#pragma unroll
        for (int c = 0; c < kPerLane; ++c) {
          sums[c] += load<T>(values[i].values[c]) * weight / count;
        }
      }
    }
  }
}

// Adds the terms of the collected regions. Each warp lists those of a quarter of the regions for
// all pixels; they are added in order, up to those of the first warp whose lists are full.
template <class Op>
__device__ __forceinline__ void add_regions(const Op& op, int64_t first, int total, int y, int x,
                                            int64_t channel, RoiGradientTile<Op>& tile,
                                            typename Op::F (&sums)[kRoiPixels][Op::kPerLane]) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const bool inside = y < op.features.height && x < op.features.width;
  const int share = (total + kRoiWarps - 1) / kRoiWarps;
  const int64_t first_channel = channel + thread % kRoiLanes * Op::kPerLane;
  const auto* const rows = op.gradient + first * op.bins_y * op.bins_x * op.stride +
                           (first_channel < op.stride ? first_channel : 0);
  RoiCursor<Op> at;
  at.end = inside ? smaller((warp + 1) * share, total) : 0;
  at.next = warp * share;
  int listed = 0;
  for (bool done = false; !done;) {
    listed = list_terms(op, first, y, x, listed, at, tile);
    tile.listed[warp][lane] = listed;
    const bool is_full = __any_sync(kAllLanes, at.next < at.end);
    if (lane == 0) tile.done[warp] = !is_full;
    __syncthreads();
    int ready = 0;
    while (ready < kRoiWarps && tile.done[ready]) ++ready;
    done = ready == kRoiWarps;
    ready = smaller(ready + 1, kRoiWarps);
#pragma unroll
    for (int i = 0; i < kRoiPixels; ++i) {
      const int pixel = thread / kRoiLanes + i * (kRoiThreads / kRoiLanes);
#pragma unroll 1
      for (int w = 0; w < ready; ++w) add_terms(op, rows, w, pixel, tile, sums[i]);
    }
    if (warp < ready) listed = 0;
    __syncthreads();
  }
}

// Stores the sums of a block, lanes along the pixels or along the channels.
template <class Op>
__device__ __forceinline__ void store_sums(const Op& op, int64_t n, int top, int left,
                                           int64_t channel, const RoiGradientTile<Op>& tile) {
  using T = typename Op::Pixel;
  constexpr int kChannels = Op::kChannels;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const Image<T> target = op.features[n];
  const int count = static_cast<int>(smaller<int64_t>(op.features.channels - channel, kChannels));
  if (target.stride_c != 1) {
    const int y = top + lane / kRoiTileWidth, x = left + lane % kRoiTileWidth;
    if (!target.contains(y, x)) return;
    constexpr int kPerWarp = kChannels / kRoiWarps;
    T* const to = &target.at(y, x, channel + warp * kPerWarp);
#pragma unroll
    for (int c = 0; c < kPerWarp; ++c) {
      if (warp * kPerWarp + c < count) {
        to[c * target.stride_c] = store<T>(tile.sums[lane][warp * kPerWarp + c]);
      }
    }
    return;
  }
  for (int pixel = warp; pixel < kWarp; pixel += kRoiWarps) {
    const int y = top + pixel / kRoiTileWidth, x = left + pixel % kRoiTileWidth;
    if (!target.contains(y, x)) continue;
    for (int c = lane; c < count; c += kWarp) {
      target.at(y, x, channel + c) = store<T>(tile.sums[pixel][c]);
    }
  }
}

// A block owns a tile of 8 x 4 pixels of an image in 64 channels (32 of double). A thread lists
// terms of one pixel and adds those of four in 4 channels (2). A value of the gradient is read by
// the few tiles around its bin.
template <class Op>
__global__ void __launch_bounds__(kRoiThreads, 1) add_roi_gradient_kernel(const Op op) {
  using F = typename Op::F;
  __shared__ RoiGradientTile<Op> tile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int tiles_x = (op.features.width + kRoiTileWidth - 1) / kRoiTileWidth;
  const int left = static_cast<int>(blockIdx.x) % tiles_x * kRoiTileWidth;
  const int top = static_cast<int>(blockIdx.x) / tiles_x * kRoiTileHeight;
  const int y = top + lane / kRoiTileWidth, x = left + lane % kRoiTileWidth;
  const int64_t bins = int64_t{op.bins_y} * op.bins_x;
  for (int64_t n = blockIdx.z; n < op.features.count; n += gridDim.z) {
    for (int64_t channel = int64_t{blockIdx.y} * Op::kChannels; channel < op.features.channels;
         channel += int64_t{gridDim.y} * Op::kChannels) {
      F sums[kRoiPixels][Op::kPerLane] = {};
      for (int64_t begin = 0; begin < op.regions;) {
        const int64_t first = begin;
        int total = 0;
        do {
          total = collect_regions(op, first, begin, n, top, left, total, tile);
          begin += kRoiThreads;
        } while (begin < op.regions && total <= kRoiRegions - kRoiThreads &&
                 (begin + kRoiThreads - first) * bins <= 2147483647);
        __syncthreads();
        add_regions(op, first, total, y, x, channel, tile, sums);
      }
#pragma unroll
      for (int i = 0; i < kRoiPixels; ++i) {
        const int pixel = thread / kRoiLanes + i * (kRoiThreads / kRoiLanes);
        for (int c = 0; c < Op::kPerLane; ++c) {
          tile.sums[pixel][thread % kRoiLanes * Op::kPerLane + c] = sums[i][c];
        }
      }
      __syncthreads();
      store_sums(op, n, top, left, channel, tile);
      __syncthreads();
    }
  }
}

template <class Op>
int launch_roi_gradient(const Op& op, void* stream) {
  constexpr int kChannels = Op::kChannels;
  const auto& to = op.features;
  const int64_t tiles = ((int64_t{to.width} + kRoiTileWidth - 1) / kRoiTileWidth) *
                        ((int64_t{to.height} + kRoiTileHeight - 1) / kRoiTileHeight);
  const int64_t chunks = (to.channels + kChannels - 1) / kChannels;
  const dim3 grid(static_cast<unsigned>(tiles), grid_blocks(chunks), grid_blocks(to.count));
  return launch(add_roi_gradient_kernel<Op>, grid, dim3(kRoiThreads), 0, stream, op);
}

}  // namespace orbbec
