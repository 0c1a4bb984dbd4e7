// The sums of roi_align and its gradient with vectors over the channels of a block: the arithmetic
// of roi_align/roi.h's functor, sample by sample. Included by roi_align/roi_cpu.h and
// roi_align/roi_backward_cpu.h.
#pragma once

#include "../executors/executor_cpu.h"
#include "blocked_channels.h"
#include "roi_taps.h"

namespace orbbec {

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
            const Vector contribution = gradient[v] * weight;
            to[v] += kByInverse ? contribution * inverse : contribution / taps.count;
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

// The vector code of one SIMD level. Everything it calls is inlined into the level's function.
template <class F, class Roi>
struct RoiVectors {
  using Taps = RoiTaps<F, Roi>;
  void (*means)(const Taps& taps, const BinRows& rows, const ChannelBlock<F>& block, F* tile);
  void (*add)(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width);
  void (*add_by_inverse)(const Taps& taps, const BinRows& rows, const F* tile, F* sums, int width);
};

template <bool kByInverse, class F, class Taps>
auto add_bins_of(Simd level) {
  return compiled_to_avx512<add_bins<16, kByInverse, F, Taps>, add_bins<32, kByInverse, F, Taps>,
                            add_bins<64, kByInverse, F, Taps>>(level);
}

template <class F, class Roi>
RoiVectors<F, Roi> roi_vectors(Simd level) {
  using Taps = RoiTaps<F, Roi>;
  return {compiled_to_avx512<mean_of_bins<16, F, Taps>, mean_of_bins<32, F, Taps>,
                             mean_of_bins<64, F, Taps>>(level),
          add_bins_of<false, F, Taps>(level), add_bins_of<true, F, Taps>(level)};
}

template <class F, class Roi>
void make_roi_geometries_cpu(const RoiArguments& a, const ParallelFor& parallel) {
  for_each_item_cpu(MakeRoiGeometries<F, Roi>{a}, 1, static_cast<int>(a.pooled.count),
                    /*pixels_per_item=*/16, parallel);
}

}  // namespace orbbec
