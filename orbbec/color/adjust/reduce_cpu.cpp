#include "../../executors/float_dispatch_cpu.h"
#include "../rows_cpu.h"
#include "reduce.h"

namespace orbbec {
namespace {

// Adds pixels to consecutive lanes.
template <class Op>
ORBBEC_HD void add_run(const Op& op, const auto& image, int y, int x, int count, int k,
                       double* lanes) {
  for (int i = 0; i < count; ++i) lanes[i] += op.term(image, y, x + i, k);
}

template <class Op>
ORBBEC_HD void add_image(const Op& op, int64_t n) {
  const auto image = op.source[n];
  for (int k = 0; k < op.kinds; ++k) {
    double* const lanes = op.lanes + (n * op.kinds + k) * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = 0;
    int lane = 0;
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width;) {
        const int left = image.width - x, lanes_left = kLanes - lane;
        const int count = left < lanes_left ? left : lanes_left;
        add_run(op, image, y, x, count, k, lanes + lane);
        x += count;
        lane = (lane + count) % kLanes;
      }
    }
  }
}

// Grays of bytes are integers, whose sum is exact in any order.
ORBBEC_HD int64_t sum_row(const Image<const uint8_t>& image, int y) {
  alignas(64) uint8_t planes[3][kBlockPixels] = {};
  int64_t total = 0;
  for (int x = 0; x < image.width; x += kBlockPixels) {
    const int left = image.width - x, count = left < kBlockPixels ? left : kBlockPixels;
    if (count < kBlockPixels) memset(planes, 0, sizeof(planes));
    read_block<3>(image, y, x, planes, count);
    int sum = 0;
    for (int i = 0; i < kBlockPixels; ++i) {
      const int rgb[3] = {planes[0][i], planes[1][i], planes[2][i]};
      sum += static_cast<int>(gray_of(rgb));
    }
    total += sum;
  }
  return total;
}

void sum_gray_bytes(const ReduceArguments& a, const ParallelFor& parallel) {
  const Images<const uint8_t> images(a.source);
  const auto row = compiled_to_avx2<sum_row>(simd_level());
  parallel(a.source.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const Image<const uint8_t> image = images[n];
      int64_t sum = 0;
      for (int y = 0; y < image.height; ++y) sum += row(image, y);
      a.sums[n] = static_cast<double>(sum);
    }
  });
}

}  // namespace

void reduce_cpu(const ReduceArguments& a, const ParallelFor& parallel) {
  if (a.dtype == DType::kUInt8 && a.summand == Summand::kGray && a.source.channels == 3) {
    return sum_gray_bytes(a, parallel);
  }
  dispatch_functor<LaneSums>(
      a, in_floats_only([&](const auto& op) {
        const auto add = compiled_to_avx2<add_image<std::decay_t<decltype(op)>>>(simd_level());
        parallel(a.source.count, 1, [&](int64_t begin, int64_t end) {
          for (int64_t n = begin; n < end; ++n) add(op, n);
        });
      }));
  const int64_t kinds = a.source.count * a.kinds;
  const FoldSums<kLanes, kGroups> lanes{a.lanes, a.groups};
  for_each_item_cpu(lanes, kinds, kGroups, kLanes / kGroups, parallel);
  for_each_item_cpu(FoldSums<kGroups, 1>{a.groups, a.sums}, kinds, 1, kGroups, parallel);
}

}  // namespace orbbec
