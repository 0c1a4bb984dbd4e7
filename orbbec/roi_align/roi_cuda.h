// roi_align and its gradient on a CUDA device. Included by roi_align_cuda.cu and
// roi_align_rotated_cuda.cu.
#pragma once

#include "roi_bands_cuda.h"
#include "roi_gather_cuda.h"
#include "roi_scatter_cuda.h"

namespace orbbec {

template <class F, class Roi>
int make_roi_geometries_cuda(const RoiArguments& a, void* stream) {
  return for_each_item_cuda(MakeRoiGeometries<F, Roi>{a}, 1, static_cast<int>(a.pooled.count),
                            stream);
}

constexpr int kRoiAlignThreads = 256;
constexpr int kRoiChannels = 8;  // per thread: they share the taps

// A thread owns a bin in 8 channels. Lanes follow the bins and then the channels, 8 at a time; if
// channels come last in memory, lanes follow the channels, and those of a thread are far apart. No
// shared memory.
template <class T, class Roi>
__global__ void __launch_bounds__(kRoiAlignThreads, 1)
    roi_align_kernel(const RoiAlign<T, Roi> op, int bins, int64_t groups) {
  const int64_t channels = op.pooled.channels, items = bins * groups;
  const int64_t inner = op.channels_last ? groups : bins;
  for (int64_t k = blockIdx.y; k < op.pooled.count; k += gridDim.y) {
    for (int64_t item = int64_t{blockIdx.x} * kRoiAlignThreads + threadIdx.x; item < items;
         item += int64_t{gridDim.x} * kRoiAlignThreads) {
      const bool is_small = items <= 2147483647;  // a division of 64 bits takes 80 instructions
      const int64_t outer =
          is_small ? static_cast<int>(item) / static_cast<int>(inner) : item / inner;
      const int64_t rest = item - outer * inner;
      const int bin = static_cast<int>(op.channels_last ? outer : rest);
      const int64_t first = op.channels_last ? rest : outer * kRoiChannels;
      const int64_t step = op.channels_last ? groups : 1;
      const int64_t left =
          op.channels_last ? (channels - first + groups - 1) / groups : channels - first;
      const int count = left < kRoiChannels ? static_cast<int>(left) : kRoiChannels;
      const int ph = bin / op.pooled.width, pw = bin % op.pooled.width;
      typename RoiAlign<T, Roi>::F means[kRoiChannels];
      op.means(op.geometries[k], ph, pw, first, count, step, means);
      const Image<T> pooled = op.pooled[k];
#pragma unroll
      for (int i = 0; i < kRoiChannels; ++i) {
        if (i < count) pooled.at(ph, pw, first + i * step) = store<T>(means[i]);
      }
    }
  }
}

template <class T, class Roi>
int launch_roi_align_cuda(const RoiArguments& a, void* stream) {
  const int status = make_roi_geometries_cuda<Compute<T>, Roi>(a, stream);
  if (status != 0) return status;
  if constexpr (std::is_same_v<Roi, UprightRoi>) {
    const RoiBands bands = roi_bands<T>(a.features.height, a.features.width);
    if (suits_bands<T>(a, bands)) {
      return a.sampling_ratio == 2 ? launch_roi_align_bands<T, 2>(a, bands, stream)
                                   : launch_roi_align_bands<T, 0>(a, bands, stream);
    }
  }
  const int bins = a.pooled.height * a.pooled.width;
  const int64_t groups = (a.pooled.channels + kRoiChannels - 1) / kRoiChannels;
  const int64_t blocks = (bins * groups + kRoiAlignThreads - 1) / kRoiAlignThreads;
  constexpr int64_t kMaxBlocks = int64_t{1} << 30;
  const dim3 grid(static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks),
                  grid_blocks(a.pooled.count));
  return launch(roi_align_kernel<T, Roi>, grid, dim3(kRoiAlignThreads), 0, stream,
                RoiAlign<T, Roi>(a), bins, groups);
}

template <class T, class Roi>
int launch_roi_gradient_cuda(const RoiArguments& a, void* stream) {
  using F = Compute<T>;
  const bool copies = !Roi::scatters(a) && a.pooled.data != a.channels_last;
  const int status =
      copies ? to_channels_last_cuda<T>(a.pooled, a.channels_last, a.channels_last_stride,
                                        MakeRoiGeometries<F, Roi>{a}, stream)
             : make_roi_geometries_cuda<F, Roi>(a, stream);
  if (status != 0) return status;
  if constexpr (std::is_same_v<Roi, UprightRoi>) {
    if (Roi::scatters(a)) return launch_scatter_roi_gradient(ScatterRoiGradient<T>(a), stream);
  }
  if (a.sampling_ratio > 0 && is_power_of_two(F(a.sampling_ratio))) {
    return launch_roi_gradient(GatherRoiGradient<T, Roi, true>(a), stream);
  }
  return launch_roi_gradient(GatherRoiGradient<T, Roi, false>(a), stream);
}

}  // namespace orbbec
