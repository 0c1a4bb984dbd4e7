// roi_pool and its gradient on a CUDA device. Forward, a thread owns a bin. In the gradient, a
// block owns some pixels of an image in 8 channels, a warp one of these channels: it adds the bins
// whose maxima are among these pixels in the order of the regions, one bin per lane.
#include "../../executors/cuda/tiles.h"
#include "../../executors/cuda/warp.h"
#include "roi_pool.h"

namespace orbbec {
namespace {

// The gradient of the feature maps: the bins of the regions, in order, add to the pixels of their
// maxima.
template <class T>
struct RoiPoolGradient {
  using F = Compute<T>;

  Images<const T> gradient;      // a row of bins follows that above in memory
  Images<const int32_t> argmax;  // likewise
  Images<T> features;            // dense
  const RoiPoolGeometry<F>* geometries;

  explicit RoiPoolGradient(const RoiPoolArguments& a)
      : gradient(a.roi.pooled),
        argmax(a.argmax),
        features(a.roi.features),
        geometries(static_cast<const RoiPoolGeometry<F>*>(a.roi.geometries)) {}

  // The rows of bins of region k that reach rows [top, bottom] of image n; false if there are none.
  __device__ bool bin_rows(int64_t k, int64_t n, int top, int bottom, int& first, int& last) const {
    const RoiPoolGeometry<F> f = geometries[k];
    if (f.image != n || bottom < f.start_y || top >= f.end_y) return false;
    // A margin of 1 bin covers the rounding of the quotient.
    first = bin_near(top - f.start_y, f.bin_y, -1);
    last = bin_near(bottom - f.start_y + 1, f.bin_y, 1);
    while (first < last && bin_range(f.start_y, f.bin_y, first, features.height).end <= top)
      ++first;
    while (first < last && bin_range(f.start_y, f.bin_y, last, features.height).begin > bottom)
      --last;
    return true;
  }

 private:
  __device__ int bin_near(int pixels, F bin, int margin) const {
    const F p = F(pixels) / bin + F(margin);
    const int last = gradient.height - 1;
    return p > F(0) ? (p < F(last) ? static_cast<int>(p) : last) : 0;
  }
};

constexpr int kPoolWarps = 8, kPoolThreads = kPoolWarps * kWarp;
constexpr int kPoolSumBytes = 4096;  // of a warp
constexpr int kRunBins = 64;         // at most
constexpr int kPoolSteps = kPoolThreads * kRunBins / kWarp;

// Neighboring bins of a region, numbered on from those of the runs before.
struct BinRun {
  int64_t gradient, argmax;  // offsets of the region
  int shift;                 // from the number of a bin to its index in the region
};

// What a block shares.
template <class F>
struct RoiPoolTile {
  static constexpr int kPixels = kPoolSumBytes / sizeof(F);
  F sums[kPoolWarps][kPixels];
  BinRun runs[kPoolThreads];
  // A step is 32 bins: the run of the first one, and where other runs begin.
  unsigned starts[kPoolSteps];
  short first_runs[kPoolSteps];
  int totals[kPoolWarps];
};

// Collects the bins that reach rows [top, bottom] in 256 runs, `runs` to a region, from a run of a
// region on. Returns the number of bins.
template <class T>
__device__ int collect_bins(const RoiPoolGradient<T>& op, int64_t region, int run, int runs,
                            int64_t n, int top, int bottom, RoiPoolTile<Compute<T>>& tile) {
  constexpr int kCountRun = 1 << 16;  // in the upper half of a sum
  const int run_of_thread = run + static_cast<int>(threadIdx.x), past = run_of_thread / runs;
  const int64_t k = region + past;
  int first = 0, last = -1, count = 0;
  if (k < op.gradient.count && op.bin_rows(k, n, top, bottom, first, last)) {
    first = first * op.gradient.width + (run_of_thread - past * runs) * kRunBins;
    count = larger(0, smaller((last + 1) * op.gradient.width - first, kRunBins));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPoolSteps; i += kPoolThreads) tile.starts[i] = 0;
  int total;
  const int end = block_inclusive_sum(count > 0 ? count + kCountRun : 0, tile.totals, total);
  if (count > 0) {
    const int collected = end / kCountRun - 1, position = end % kCountRun - count;
    tile.runs[collected] = {k * op.gradient.stride_n, k * op.argmax.stride_n, first - position};
    atomicOr(&tile.starts[position / kWarp], 1u << position % kWarp);
    for (int step = (position + kWarp - 1) / kWarp; step * kWarp < position + count; ++step) {
      tile.first_runs[step] = static_cast<short>(collected);
    }
  }
  __syncthreads();
  return total % kCountRun;
}

// Adds values to sums in the order of the lanes, of which those in `same` have one sum. The first
// of them adds; `second` is the value of the next.
template <class F>
__device__ __forceinline__ void add_in_order(int pixel, unsigned same, F value, F second, F* sums) {
  const unsigned lane = threadIdx.x % kWarp;
  const bool adds = pixel >= 0 && (same & ((1u << lane) - 1)) == 0;
  unsigned rest = same & (same - 1);  // but the first
  F sum = adds ? sums[pixel] + value : F(0);
  sum = rest != 0 ? sum + second : sum;
  rest &= rest - 1;
  while (__any_sync(kAllLanes, rest != 0)) {
    const F next = __shfl_sync(kAllLanes, value, rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : 0);
    sum = rest != 0 ? sum + next : sum;
    rest &= rest - 1;
  }
  if (adds) sums[pixel] = sum;
  __syncwarp();
}

// Adds the collected bins to a warp's sums, a lane to a bin. Bins are read for four steps at a
// time, since a read waits for memory.
template <class T>
__device__ void add_bins(const RoiPoolGradient<T>& op, int bins, int64_t c, unsigned first_pixel,
                         const RoiPoolTile<Compute<T>>& tile, Compute<T>* sums) {
  using F = Compute<T>;
  constexpr int kStepsAtOnce = 4;
  const int lane = lane_id(), last_step = (bins + kWarp - 1) / kWarp - 1;
  const unsigned up_to_lane = (2u << lane) - 1;
  const Image<const T> gradient = op.gradient[0];
  const Image<const int32_t> argmax = op.argmax[0];
  for (int begin = 0; begin <= last_step; begin += kStepsAtOnce) {
    int pixels[kStepsAtOnce];
    F values[kStepsAtOnce], seconds[kStepsAtOnce];
    unsigned same[kStepsAtOnce];
#pragma unroll
    for (int i = 0; i < kStepsAtOnce; ++i) {
      const int step = smaller(begin + i, last_step);
      const int number = smaller(step * kWarp + lane, bins - 1);
      const unsigned started = tile.starts[step] & up_to_lane;
      const BinRun& run = tile.runs[tile.first_runs[step] + __popc(started >> 1)];
      const int bin = number + run.shift;
      const unsigned index = static_cast<unsigned>(
          argmax.data[run.argmax + c * argmax.stride_c + bin * argmax.stride_x]);
      values[i] =
          load<T>(gradient.data[run.gradient + c * gradient.stride_c + bin * gradient.stride_x]);
      const unsigned pixel = index - first_pixel;
      const bool adds = pixel < RoiPoolTile<F>::kPixels && (begin + i) * kWarp + lane < bins;
      pixels[i] = adds ? static_cast<int>(pixel) : -1 - lane;
    }
#pragma unroll
    for (int i = 0; i < kStepsAtOnce; ++i) {
      same[i] = __match_any_sync(kAllLanes, pixels[i]);
      const int second = __ffs(static_cast<int>(same[i] & (same[i] - 1))) - 1;
      seconds[i] = __shfl_sync(kAllLanes, values[i], second);
    }
#pragma unroll
    for (int i = 0; i < kStepsAtOnce; ++i) {
      add_in_order(pixels[i], same[i], values[i], seconds[i], sums);
    }
  }
}

// Stores the sums of a block's pixels, lanes along the pixels or along the channels.
template <class T>
__device__ void store_sums(const RoiPoolGradient<T>& op, int64_t n, int64_t channel, int first,
                           int count, const RoiPoolTile<Compute<T>>& tile) {
  const int thread = static_cast<int>(threadIdx.x);
  const Image<T> image = op.features[n];
  const bool last = image.stride_c == 1;
  const int c = last ? thread % kPoolWarps : thread / kWarp;
  if (channel + c >= op.features.channels) return;
  T* const to = &image.at(0, 0, channel + c);
  for (int i = last ? thread / kPoolWarps : thread % kWarp; i < count; i += kWarp) {
    to[(first + i) * image.stride_x] = store<T>(tile.sums[c][i]);
  }
}

// A block owns 1024 pixels (512 of double), as they follow in memory, in 8 channels; a warp owns a
// channel, whose sums are in 4 KB of shared memory. A bin is read by the few blocks whose rows it
// reaches.
template <class T>
__global__ void __launch_bounds__(kPoolThreads, sizeof(T) == 8 ? 3 : 4)
    roi_pool_gradient_kernel(const RoiPoolGradient<T> op) {
  using Tile = RoiPoolTile<Compute<T>>;
  __shared__ Tile tile;
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = static_cast<int>(blockIdx.x) * Tile::kPixels;
  const int count = smaller(op.features.height * op.features.width - first, Tile::kPixels);
  const int top = first / op.features.width, bottom = (first + count - 1) / op.features.width;
  const int bins_of_region = op.gradient.height * op.gradient.width;
  const int runs = (bins_of_region + kRunBins - 1) / kRunBins;  // a region
  auto* const sums = tile.sums[warp];
  for (int64_t n = blockIdx.z; n < op.features.count; n += gridDim.z) {
    for (int64_t channel = int64_t{blockIdx.y} * kPoolWarps; channel < op.features.channels;
         channel += int64_t{gridDim.y} * kPoolWarps) {
      for (int i = lane; i < Tile::kPixels; i += kWarp) sums[i] = 0;
      const int64_t c = channel + warp;
      int run = 0;
      for (int64_t region = 0; region < op.gradient.count; region += run / runs, run %= runs) {
        const int bins = collect_bins(op, region, run, runs, n, top, bottom, tile);
        run += kPoolThreads;
        if (c < op.features.channels) {
          add_bins(op, bins, c, static_cast<unsigned>(first), tile, sums);
        }
      }
      __syncthreads();
      store_sums(op, n, channel, first, count, tile);
      __syncthreads();
    }
  }
}

template <class T>
int launch_roi_pool_gradient(const RoiPoolGradient<T>& op, void* stream) {
  constexpr int kPixels = RoiPoolTile<Compute<T>>::kPixels;
  const auto& to = op.features;
  const int64_t tiles = (int64_t{to.height} * to.width + kPixels - 1) / kPixels;
  const int64_t groups = (to.channels + kPoolWarps - 1) / kPoolWarps;
  const dim3 grid(static_cast<unsigned>(tiles), grid_blocks(groups), grid_blocks(to.count));
  return launch(roi_pool_gradient_kernel<T>, grid, dim3(kPoolThreads), 0, stream, op);
}

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
    return status != 0 ? status
                       : for_each_pixel_cuda(op, region_items(op.pooled, op.channels_last), stream);
  });
}

int roi_pool_backward_cuda(const RoiPoolArguments& a, void* stream) {
  return dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    const int status = make_roi_pool_geometries_cuda<Compute<T>>(a.roi, stream);
    return status != 0 ? status : launch_roi_pool_gradient(RoiPoolGradient<T>(a), stream);
  });
}

}  // namespace orbbec
