// roi_align of planar maps on a CUDA device, with the maps in shared memory. Included by
// roi_align/roi_cuda.h.
//
// A block stages a band of rows of an image in 8 channels, which are next to each other there, and
// makes the rows of bins that begin in it.
#pragma once

#include "../executors/cuda/tiles.h"
#include "../executors/cuda/warp.h"
#include "roi.h"

namespace orbbec {

constexpr int kBandThreads = 384;
constexpr int kBandBytes = 52 << 10;  // of staged rows: with the list less than T4's 64 KB
constexpr int kBandHalo = 5;          // rows that a band shares with the next one
constexpr int kBandBinRows = 8;       // of a region, which a thread lists at a time
constexpr int kBandListed = kBandThreads * kBandBinRows;
constexpr int kBandLaneChannels = 4, kBandLanes = 2;  // of a thread; of a bin
constexpr int kBandChannels = kBandLaneChannels * kBandLanes;

// Band b stages `rows` rows from b * step on. The last row and column are staged twice, so that a
// sample reads two of each everywhere.
struct RoiBands {
  int count, rows, step;
};

template <class T>
RoiBands roi_bands(int height, int width) {
  const int64_t row = (int64_t{width} + 1) * kBandChannels * sizeof(T);
  const int rows = static_cast<int>(smaller<int64_t>(kBandBytes / row, int64_t{height} + 1));
  if (rows > height) return {1, rows, rows};
  const int step = rows - kBandHalo;
  return {step > 0 ? (height - rows + step) / step + 1 : 0, rows, step};
}

// What a block shares besides the staged rows: the rows of bins that it makes, in any order. A
// number has the region, the row of 8, and whether the band lacks rows of the image.
struct RoiBandList {
  uint16_t bin_rows[kBandListed];
  int count;
};

// kSamples: per axis of a bin in all regions that have any; 0: any numbers.
template <class T, int kSamplesPerAxis>
struct RoiAlignBand {
  using Pixel = T;
  using F = Compute<T>;
  using Vector = ChannelVector<T, kBandLaneChannels>;
  static constexpr int kSamples = kSamplesPerAxis;

  RoiAlign<T, UprightRoi> align;
  RoiBands bands;

  // The least or greatest position in the image of the samples of a row of bins.
  __device__ __forceinline__ F bound(const RoiGeometry<F>& f, int ph, bool least) const {
    const int i = (f.bin_y >= F(0)) == least ? 0 : f.samples_y - 1;
    const int samples = kSamples > 0 ? kSamples : f.samples_y;
    const F at = roi_position(f.start_y, f.bin_y, samples, ph, i);
    return smaller(larger(at, F(0)), F(align.features.height - 1));
  }

  // Whether the band in rows [top, end) makes row ph of a region's bins, and whether it lacks rows.
  __device__ __forceinline__ bool makes(const RoiGeometry<F>& f, int ph, int top, int end,
                                        bool& lacks) const {
    lacks = f.image < 0 || f.samples_y == 0 || f.samples_x == 0;
    if (lacks) return top == 0;
    const F first = bound(f, ph, true);
    if (!(first >= F(top) && first < F(end))) return false;
    lacks = static_cast<int>(bound(f, ph, false)) + 1 >= top + bands.rows;
    return true;
  }

  // The means of a bin in 4 channels, from staged rows of which the first is row `top`.
  __device__ __forceinline__ void means(const RoiGeometry<F>& f, int ph, int pw, int top,
                                        const Vector* rows, F (&sums)[kBandLaneChannels]) const {
    const int height = align.features.height, width = align.features.width;
    const int pitch = (width + 1) * kBandLanes;
    const auto add = [&](const AxisSample<F>& y, const AxisSample<F>& x) {
      const RoiTap<F> tap = roi_tap(y, x);
      const Vector* const low = rows + ((y.low - top) * pitch + x.low * kBandLanes);
      const Vector* const high = low + pitch;
      const Vector upper_left = low[0], upper_right = low[kBandLanes];
      const Vector lower_left = high[0], lower_right = high[kBandLanes];
#pragma unroll
      for (int i = 0; i < kBandLaneChannels; ++i) {
        sums[i] += at_tap(tap, load<T>(upper_left.values[i]), load<T>(upper_right.values[i]),
                          load<T>(lower_left.values[i]), load<T>(lower_right.values[i]));
      }
    };
    const auto sample_y = [&](int samples, int i) {
      return axis_sample(roi_position(f.start_y, f.bin_y, samples, ph, i), height);
    };
    const auto sample_x = [&](int samples, int i) {
      return axis_sample(roi_position(f.start_x, f.bin_x, samples, pw, i), width);
    };
#pragma unroll
    for (int i = 0; i < kBandLaneChannels; ++i) sums[i] = F(0);
    if constexpr (kSamples > 0) {
      AxisSample<F> columns[kSamples];
#pragma unroll
      for (int i = 0; i < kSamples; ++i) columns[i] = sample_x(kSamples, i);
#pragma unroll
      for (int iy = 0; iy < kSamples; ++iy) {
        const AxisSample<F> row = sample_y(kSamples, iy);
        if (row.low < 0) continue;
#pragma unroll
        for (int ix = 0; ix < kSamples; ++ix) {
          if (columns[ix].low >= 0) add(row, columns[ix]);
        }
      }
    } else {
      for (int iy = 0; iy < f.samples_y; ++iy) {
        const AxisSample<F> row = sample_y(f.samples_y, iy);
        if (row.low < 0) continue;
        for (int ix = 0; ix < f.samples_x; ++ix) {
          const AxisSample<F> column = sample_x(f.samples_x, ix);
          if (column.low >= 0) add(row, column);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kBandLaneChannels; ++i) {
      sums[i] /= kSamples > 0 ? F(kSamples * kSamples) : f.count;
    }
  }
};

// Stages rows [top, bottom) of an image in 8 channels, two lanes to a pixel.
template <class T>
__device__ __forceinline__ void stage_band(const Image<const T>& image, int top, int bottom,
                                           int64_t channel, int64_t channels,
                                           ChannelVector<T, kBandLaneChannels>* rows) {
  constexpr int kPixels = kBandThreads / kBandLanes;
  const int thread = static_cast<int>(threadIdx.x), width = image.width + 1;
  const int step_y = kPixels / width, step_x = kPixels - step_y * width;
  int y = thread / kBandLanes / width, x = thread / kBandLanes - y * width;
  const T* planes[kBandLaneChannels];
#pragma unroll
  for (int i = 0; i < kBandLaneChannels; ++i) {
    const int64_t c = channel + thread % kBandLanes * kBandLaneChannels + i;
    planes[i] = image.data + (c < channels ? c : channels - 1) * image.stride_c;
  }
  for (int to = thread; y < bottom - top; to += kBandThreads) {
    const int64_t from = smaller(top + y, image.height - 1) * image.stride_y +
                         smaller(x, image.width - 1) * image.stride_x;
    ChannelVector<T, kBandLaneChannels> values;
#pragma unroll
    for (int i = 0; i < kBandLaneChannels; ++i) values.values[i] = planes[i][from];
    rows[to] = values;
    x += step_x;
    y += step_y + (x >= width ? 1 : 0);
    x -= x >= width ? width : 0;
  }
}

// Lists the rows of bins, 8 of each of 384 regions, that the band makes.
template <class Op>
__device__ __forceinline__ void list_bin_rows(const Op& op, int64_t begin, int first_row, int64_t n,
                                              int top, int end, RoiBandList& list) {
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t k = begin + thread;
  unsigned rows = 0, lacking = 0;
  if (k < op.align.pooled.count) {
    const auto f = op.align.geometries[k];
    const int count = smaller(op.align.pooled.height - first_row, kBandBinRows);
    for (int i = 0; i < count && (f.image == n || (f.image < 0 && n == 0)); ++i) {
      bool lacks;
      if (op.makes(f, first_row + i, top, end, lacks)) rows |= 1u << i;
      if (lacks) lacking |= 1u << i;
    }
  }
  const int row_count = __popc(rows);
  int position = warp_inclusive_sum(row_count);
  int first = 0;
  if (lane_id() == kWarp - 1) first = atomicAdd(&list.count, position);
  position += __shfl_sync(kAllLanes, first, kWarp - 1) - row_count;
  for (; rows != 0; rows &= rows - 1) {
    const int i = __ffs(static_cast<int>(rows)) - 1;
    list.bin_rows[position++] =
        static_cast<uint16_t>((thread * kBandBinRows + i) * 2 + static_cast<int>(lacking >> i & 1));
  }
}

// Makes the listed rows of bins, a thread a bin in 4 channels.
template <class Op>
__device__ __forceinline__ void make_bins(const Op& op, int64_t begin, int first_row, int top,
                                          int64_t channel, const typename Op::Vector* rows,
                                          const RoiBandList& list) {
  using T = typename Op::Pixel;
  const AnyImages& pooled = op.align.pooled;
  const int lane = static_cast<int>(threadIdx.x) % kBandLanes;
  const int64_t c = channel + lane * kBandLaneChannels;
  if (c >= pooled.channels) return;
  const int count = static_cast<int>(smaller<int64_t>(pooled.channels - c, kBandLaneChannels));
  for (int item = static_cast<int>(threadIdx.x) / kBandLanes; item < list.count * pooled.width;
       item += kBandThreads / kBandLanes) {
    const int listed = item / pooled.width, pw = item - listed * pooled.width;
    const unsigned number = list.bin_rows[listed];
    const int64_t k = begin + number / (2 * kBandBinRows);
    const int ph = first_row + static_cast<int>(number / 2 % kBandBinRows);
    const auto& f = op.align.geometries[k];
    T* to = static_cast<T*>(pooled.data) + k * pooled.stride_n + c * pooled.stride_c +
            ph * pooled.stride_y + pw * pooled.stride_x;
    if (number % 2 != 0) {
#pragma unroll 1
      for (int i = 0; i < count; ++i, to += pooled.stride_c) {
        typename Op::F mean[1];
        op.align.means(f, ph, pw, c + i, 1, 1, mean);
        *to = store<T>(mean[0]);
      }
      continue;
    }
    typename Op::F means[kBandLaneChannels];
    op.means(f, ph, pw, top, rows + lane, means);
#pragma unroll
    for (int i = 0; i < kBandLaneChannels; ++i, to += pooled.stride_c) {
      if (i < count) *to = store<T>(means[i]);
    }
  }
}

// A block owns a band of rows of an image in 8 channels: up to 52 KB of shared memory, which
// blocks of neighboring bands read again in 5 rows.
template <class Op>
__global__ void __launch_bounds__(kBandThreads, sizeof(typename Op::F) == 8 ? 1 : 2)
    roi_align_band_kernel(const Op op) {
  using Vector = typename Op::Vector;
  __shared__ RoiBandList list;
  Vector* const rows = dynamic_shared<Vector>();
  const AnyImages& features = op.align.features;
  const int band = static_cast<int>(blockIdx.x), top = band * op.bands.step;
  const int end = band + 1 < op.bands.count ? top + op.bands.step : features.height;
  const int bottom = smaller(top + op.bands.rows, features.height + 1);
  for (int64_t n = blockIdx.z; n < features.count; n += gridDim.z) {
    const Image<const typename Op::Pixel> image = op.align.features[n];
    for (int64_t channel = int64_t{blockIdx.y} * kBandChannels; channel < features.channels;
         channel += int64_t{gridDim.y} * kBandChannels) {
      stage_band(image, top, bottom, channel, features.channels, rows);
      for (int row = 0; row < op.align.pooled.height; row += kBandBinRows) {
        for (int64_t begin = 0; begin < op.align.pooled.count; begin += kBandThreads) {
          if (threadIdx.x == 0) list.count = 0;
          __syncthreads();
          list_bin_rows(op, begin, row, n, top, end, list);
          __syncthreads();
          make_bins(op, begin, row, top, channel, rows, list);
          __syncthreads();
        }
      }
    }
  }
}

template <class T, int kSamples>
int launch_roi_align_bands(const RoiArguments& a, const RoiBands& bands, void* stream) {
  const int64_t groups = (a.pooled.channels + kBandChannels - 1) / kBandChannels;
  const dim3 grid(static_cast<unsigned>(bands.count), grid_blocks(groups),
                  grid_blocks(a.features.count));
  const size_t bytes = size_t(bands.rows) * (a.features.width + 1) * kBandChannels * sizeof(T);
  using Op = RoiAlignBand<T, kSamples>;
  return launch(roi_align_band_kernel<Op>, grid, dim3(kBandThreads), bytes, stream,
                Op{RoiAlign<T, UprightRoi>(a), bands});
}

// Whether bands are worth their bytes: they read all pixels, others only those of the regions.
template <class T>
bool suits_bands(const RoiArguments& a, const RoiBands& bands) {
  const int64_t groups = (a.pooled.channels + kBandChannels - 1) / kBandChannels;
  const int64_t pixels = a.features.count * a.features.height * a.features.width;
  const int64_t bins = a.pooled.count * a.pooled.height * a.pooled.width;
  return bands.count > 0 && pixels > 0 && a.features.stride_c != 1 && 2 * bins >= pixels &&
         bands.count * groups * a.features.count >= kEnoughBlocks / 6;
}

}  // namespace orbbec
