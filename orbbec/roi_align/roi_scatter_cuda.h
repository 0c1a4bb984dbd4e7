// The gradient of roi_align on a CUDA device. Included by roi_align_cuda.cu.
//
// A warp keeps the sums of a tile of pixels in shared memory and adds the samples of the regions
// that touch it in the order of roi_align/roi.h, with lanes along the channels. No other lane adds
// to the sums of a lane.
#pragma once

#include "../executors/cuda/tiles.h"
#include "../executors/cuda/warp.h"
#include "roi.h"

namespace orbbec {

constexpr int kScatterWarps = 4, kScatterThreads = kScatterWarps * kWarp;
constexpr int kScatterWidth = 8, kScatterHeight = 2;  // of the tile of a warp
constexpr int kScatterPixels = kScatterWidth * kScatterHeight;
constexpr int kScatterLanes = kWarp / 2;  // of a pixel

// If UprightRoi::scatters.
template <class T>
struct ScatterRoiGradient {
  using Pixel = T;
  using F = Compute<T>;
  static constexpr int kSamples = 2;  // per axis of a bin
  static constexpr int kPerLane = 16 / sizeof(F), kChannels = kScatterLanes * kPerLane;

  Images<const T> gradient;
  Images<T> features;
  const RoiGeometry<F>* geometries;

  explicit ScatterRoiGradient(const RoiArguments& a)
      : gradient(a.pooled),
        features(a.features),
        geometries(static_cast<const RoiGeometry<F>*>(a.geometries)) {}
};

// The sums of a pixel in the channels of a lane, which are 16 apart.
template <class F>
struct alignas(16) PixelSums {
  F values[16 / sizeof(F)];
};

// The tile of a warp, with space between the banks of pixels.
template <class Op>
struct ScatterTile {
  static constexpr int kPitch = kScatterLanes + 1;
  PixelSums<typename Op::F> sums[kScatterPixels][kPitch];
};

// What a lane adds of a region to the tile of its warp, at (top, left). The first half of the warp
// adds to even columns, the second to odd ones.
template <class Op>
struct RoiScatter {
  using T = typename Op::Pixel;
  using F = typename Op::F;
  static constexpr int kRowPitch = kScatterWidth * ScatterTile<Op>::kPitch;

  const Op& op;
  ScatterTile<Op>& tile;
  int top, left;
  const T* values[Op::kPerLane];  // of the lane's channels in the gradient
  F gradient[Op::kPerLane];       // of a bin

  __device__ __forceinline__ void read(int64_t offset) {
#pragma unroll
    for (int i = 0; i < Op::kPerLane; ++i) gradient[i] = load<T>(values[i][offset]);
  }

  // Adds a sample.
  __device__ __forceinline__ void add(const AxisSample<F>& y, int low_x, F past_x) const {
    PixelSums<F>* const sums = &tile.sums[0][0];
    const auto add_pixel = [&](int index, int row, F weight) {
      if (contains_row(row)) add_to(sums[index + row * kRowPitch], weight);
    };
    F weight;
    bool inside;
    const int at = column(low_x, past_x, weight, inside);
    const bool is_edge = low_x == op.features.width - 1;  // its pixels are one
    if (!inside || (is_edge && low_x % 2 != half())) return;
    add_pixel(at, y.low - top, y.weight_low * weight);
    if (is_edge) add_pixel(at, y.low - top, y.weight_low * past_x);
    add_pixel(at, y.high - top, y.weight_high * weight);
    if (is_edge) add_pixel(at, y.high - top, y.weight_high * past_x);
  }

  __device__ __forceinline__ static int half() { return lane_id() / kScatterLanes; }

  // The index of the lane's sums of the first row, in that column of a sample that it adds to.
  __device__ __forceinline__ int column(int low_x, F past_x, F& weight, bool& inside) const {
    const int is_right = (low_x ^ half()) & 1, x = low_x + is_right - left;
    weight = is_right != 0 ? past_x : F(1) - past_x;
    inside = static_cast<unsigned>(x) < static_cast<unsigned>(kScatterWidth);
    return x * ScatterTile<Op>::kPitch + static_cast<int>(threadIdx.x) % kScatterLanes;
  }

  __device__ __forceinline__ static bool contains_row(int row) {
    return static_cast<unsigned>(row) < static_cast<unsigned>(kScatterHeight);
  }

  __device__ __forceinline__ void add_to(PixelSums<F>& to, F weight) const {
    to = added(to, weight);
  }

  __device__ __forceinline__ void add_to_two(PixelSums<F>& first, PixelSums<F>& second, F weight,
                                             F second_weight) const {
    const PixelSums<F> sums = first, second_sums = second;
    first = added(sums, weight);
    second = added(second_sums, second_weight);
  }

  __device__ __forceinline__ PixelSums<F> added(PixelSums<F> sums, F weight) const {
    constexpr F kScale = F(1) / F(Op::kSamples * Op::kSamples);
#pragma unroll
    for (int i = 0; i < Op::kPerLane; ++i) sums.values[i] += gradient[i] * weight * kScale;
    return sums;
  }
};

// Whether samples from `start` on over `length` may read pixels [first, last] of `size` ones. The
// positions err by less than a millionth of their terms. Comparisons with NaN are false.
template <class F>
__device__ __forceinline__ bool may_read(F start, F length, int first, int last, int size) {
  const F slack = F(1) + F(2e-6) * (magnitude(start) + magnitude(length));
  const F low = smaller(start, start + length) - slack;
  const F high = larger(start, start + length) + slack + F(1);
  return !(high < F(first)) && !(low > F(last)) && !(high < F(-1)) && !(low > F(size));
}

// That of another lane.
template <class F>
__device__ __forceinline__ AxisSample<F> shuffled(const AxisSample<F>& sample, int lane, int size) {
  const int low = __shfl_sync(kAllLanes, sample.low, lane);
  const F past = __shfl_sync(kAllLanes, sample.weight_high, lane);
  return {low, smaller(low + 1, size - 1), F(1) - past, past};
}

// Adds the samples of region k in these rows and columns, which are those of the lanes. The tile is
// not at the right edge of the image.
template <class Op>
__device__ __forceinline__ void add_bins(const Op& op, int64_t k,
                                         const AxisSample<typename Op::F>& y,
                                         const AxisSample<typename Op::F>& x, unsigned rows,
                                         unsigned in_x, RoiScatter<Op>& to) {
  using F = typename Op::F;
  constexpr int kSamples = Op::kSamples;
  constexpr int kRowPitch = RoiScatter<Op>::kRowPitch;
  const int first_y = (__ffs(static_cast<int>(rows)) - 1) / kSamples;
  const int first_x = (__ffs(static_cast<int>(in_x)) - 1) / kSamples;
  PixelSums<F>* const sums = &to.tile.sums[0][0];
  int64_t row =
      k * op.gradient.stride_n + first_y * op.gradient.stride_y + first_x * op.gradient.stride_x;
  rows >>= first_y * kSamples;
  in_x >>= first_x * kSamples;
  const int upper = y.low - to.top;
  const bool has_upper = to.contains_row(upper), has_lower = to.contains_row(upper + 1);
  const int offset = larger(upper, 0) * kRowPitch * 4 + (has_upper ? 2 : 0) + (has_lower ? 1 : 0);
  for (int ph = first_y; rows != 0; ++ph, rows >>= kSamples, row += op.gradient.stride_y) {
    int offsets[kSamples];
    F low_y[kSamples], high_y[kSamples];  // weights
#pragma unroll
    for (int i = 0; i < kSamples; ++i) {
      offsets[i] = __shfl_sync(kAllLanes, offset, ph * kSamples + i);
      high_y[i] = __shfl_sync(kAllLanes, y.weight_high, ph * kSamples + i);
      low_y[i] = F(1) - high_y[i];
    }
    int64_t bin = row;
    unsigned rest = in_x;
    for (int pw = first_x; rest != 0; ++pw, rest >>= kSamples, bin += op.gradient.stride_x) {
      to.read(bin);
      int columns[kSamples];
      F weights[kSamples];
      bool inside[kSamples];
#pragma unroll
      for (int i = 0; i < kSamples; ++i) {
        const int low = __shfl_sync(kAllLanes, x.low, pw * kSamples + i);
        const F past = __shfl_sync(kAllLanes, x.weight_high, pw * kSamples + i);
        columns[i] = to.column(low, past, weights[i], inside[i]);
      }
#pragma unroll
      for (int iy = 0; iy < kSamples; ++iy) {
        if ((rows >> iy & 1) == 0) continue;
#pragma unroll
        for (int ix = 0; ix < kSamples; ++ix) {
          if ((rest >> ix & 1) == 0) continue;
          const int first = columns[ix] + offsets[iy] / 4;
          if (offsets[iy] % 4 == 3) {
            if (inside[ix]) {
              to.add_to_two(sums[first], sums[first + kRowPitch], low_y[iy] * weights[ix],
                            high_y[iy] * weights[ix]);
            }
          } else if (inside[ix]) {
            const F weight = offsets[iy] % 4 == 2 ? low_y[iy] : high_y[iy];
            to.add_to(sums[first], weight * weights[ix]);
          }
        }
      }
    }
  }
}

// Adds region k: a lane locates a sample of each axis, of which there are at most 32.
template <class Op>
__device__ __forceinline__ void add_region(const Op& op, const RoiGeometry<typename Op::F>& f,
                                           int64_t k, RoiScatter<Op>& to) {
  using F = typename Op::F;
  const int lane = lane_id();
  const int bins_y = op.gradient.height, bins_x = op.gradient.width;
  constexpr int kSamples = Op::kSamples;
  const auto locate = [&](F start, F bin, int bins, int size) {
    const int p = lane / kSamples;
    if (p >= bins) return AxisSample<F>{-1, -1, F(0), F(0)};
    return axis_sample(roi_position(start, bin, kSamples, p, lane % kSamples), size);
  };
  const AxisSample<F> y = locate(f.start_y, f.bin_y, bins_y, op.features.height);
  const AxisSample<F> x = locate(f.start_x, f.bin_x, bins_x, op.features.width);
  const auto touches = [](const AxisSample<F>& at, int first, int count) {
    return at.low >= 0 && at.low < first + count && at.high >= first;
  };
  const unsigned rows = __ballot_sync(kAllLanes, touches(y, to.top, kScatterHeight));
  const unsigned columns = __ballot_sync(kAllLanes, touches(x, to.left, kScatterWidth));
  if (rows == 0 || columns == 0) return;
  if (to.left + kScatterWidth < op.features.width && to.top + kScatterHeight < op.features.height) {
    return add_bins(op, k, y, x, rows, columns, to);
  }
  constexpr unsigned kOfBin = (1u << kSamples) - 1;
  for (int ph = 0; ph < bins_y; ++ph) {
    const unsigned of_row = rows >> ph * kSamples & kOfBin;
    for (int pw = 0; pw < bins_x && of_row != 0; ++pw) {
      const unsigned of_bin = columns >> pw * kSamples & kOfBin;
      if (of_bin == 0) continue;
      to.read(k * op.gradient.stride_n + ph * op.gradient.stride_y + pw * op.gradient.stride_x);
      for (unsigned in_y = of_row; in_y != 0; in_y &= in_y - 1) {
        const AxisSample<F> at =
            shuffled(y, ph * kSamples + __ffs(static_cast<int>(in_y)) - 1, op.features.height);
        for (unsigned in_x = of_bin; in_x != 0; in_x &= in_x - 1) {
          const int source = pw * kSamples + __ffs(static_cast<int>(in_x)) - 1;
          to.add(at, __shfl_sync(kAllLanes, x.low, source),
                 __shfl_sync(kAllLanes, x.weight_high, source));
        }
      }
    }
  }
}

// Stores the sums of a warp, lanes along the pixels or along the channels.
template <class Op>
__device__ __forceinline__ void store_tile(const Op& op, int64_t n, int top, int left,
                                           int64_t channel, const ScatterTile<Op>& tile) {
  using T = typename Op::Pixel;
  const int lane = lane_id();
  const Image<T> target = op.features[n];
  const int count =
      static_cast<int>(smaller<int64_t>(op.features.channels - channel, Op::kChannels));
  const auto sum = [&](int pixel, int c) {
    return tile.sums[pixel][c % kScatterLanes].values[c / kScatterLanes];
  };
  if (target.stride_c != 1) {
    constexpr int kStep = kWarp / kScatterPixels;  // channels at a time
    const int pixel = lane % kScatterPixels, first = lane / kScatterPixels;
    const int y = top + pixel / kScatterWidth, x = left + pixel % kScatterWidth;
    if (!target.contains(y, x)) return;
    T* to = &target.at(y, x, channel + first);
    for (int c = first; c < count; c += kStep, to += kStep * target.stride_c) {
      *to = store<T>(sum(pixel, c));
    }
    return;
  }
  for (int pixel = 0; pixel < kScatterPixels; ++pixel) {
    const int y = top + pixel / kScatterWidth, x = left + pixel % kScatterWidth;
    if (!target.contains(y, x)) continue;
    for (int c = lane; c < count; c += kWarp) {
      target.at(y, x, channel + c) = store<T>(sum(pixel, c));
    }
  }
}

// A warp owns a tile of 8 x 2 pixels of an image in 64 channels (32 of double), a block four tiles
// of a column. A value of the gradient is read by the few warps around its bin.
template <class Op>
__global__ void __launch_bounds__(kScatterThreads, 1) scatter_roi_gradient_kernel(const Op op) {
  using F = typename Op::F;
  __shared__ ScatterTile<Op> tiles[kScatterWarps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int columns = (op.features.width + kScatterWidth - 1) / kScatterWidth;
  const int left = static_cast<int>(blockIdx.x) % columns * kScatterWidth;
  const int top = (static_cast<int>(blockIdx.x) / columns * kScatterWarps + warp) * kScatterHeight;
  if (top >= op.features.height) return;
  ScatterTile<Op>& tile = tiles[warp];
  for (int64_t n = blockIdx.z; n < op.features.count; n += gridDim.z) {
    for (int64_t channel = int64_t{blockIdx.y} * Op::kChannels; channel < op.features.channels;
         channel += int64_t{gridDim.y} * Op::kChannels) {
      for (int pixel = lane / kScatterLanes; pixel < kScatterPixels;
           pixel += kWarp / kScatterLanes) {
        tile.sums[pixel][lane % kScatterLanes] = {};
      }
      __syncwarp();
      RoiScatter<Op> to{op, tile, top, left, {}, {}};
#pragma unroll
      for (int i = 0; i < Op::kPerLane; ++i) {
        const int64_t c = channel + lane % kScatterLanes + i * kScatterLanes;
        to.values[i] = static_cast<const typename Op::Pixel*>(op.gradient.data) +
                       smaller(c, op.features.channels - 1) * op.gradient.stride_c;
      }
      for (int64_t begin = 0; begin < op.gradient.count; begin += kWarp) {
        bool touches = false;
        if (begin + lane < op.gradient.count) {
          const RoiGeometry<F> f = op.geometries[begin + lane];
          touches = f.image == n && f.samples_y > 0 && f.samples_x > 0 &&
                    may_read(f.start_y, f.bin_y * F(op.gradient.height), top,
                             top + kScatterHeight - 1, op.features.height) &&
                    may_read(f.start_x, f.bin_x * F(op.gradient.width), left,
                             left + kScatterWidth - 1, op.features.width);
        }
        for (unsigned votes = __ballot_sync(kAllLanes, touches); votes != 0; votes &= votes - 1) {
          const int64_t k = begin + __ffs(static_cast<int>(votes)) - 1;
          const RoiGeometry<F> f = op.geometries[k];
          add_region(op, f, k, to);
        }
      }
      __syncwarp();
      store_tile(op, n, top, left, channel, tile);
      __syncwarp();
    }
  }
}

template <class Op>
int launch_scatter_roi_gradient(const Op& op, void* stream) {
  constexpr int kRows = kScatterHeight * kScatterWarps;
  const auto& to = op.features;
  const int64_t tiles = ((int64_t{to.width} + kScatterWidth - 1) / kScatterWidth) *
                        ((int64_t{to.height} + kRows - 1) / kRows);
  const int64_t chunks = (to.channels + Op::kChannels - 1) / Op::kChannels;
  const dim3 grid(static_cast<unsigned>(tiles), grid_blocks(chunks), grid_blocks(to.count));
  return launch(scatter_roi_gradient_kernel<Op>, grid, dim3(kScatterThreads), 0, stream, op);
}

}  // namespace orbbec
