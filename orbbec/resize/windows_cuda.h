// The CUDA kernel of a resize with four or eight taps per axis: cubic and lanczos4. A block owns a
// band of output rows, a thread one value of each; it sums source rows horizontally once, and the
// last four or eight of these sums vertically. Included by resize_cuda.cu.
#pragma once

#include "../executors/cuda/warp.h"
#include "columns_cuda.h"

namespace orbbec {
namespace {

constexpr int kMaxTaps = 8;
constexpr int kWindowRows = kWarp;  // output rows of a block: a lane lists the source rows of each

// kRowsPerGroup of the source rows that a band reads, in order, and of how many output rows each is
// the last.
template <class T>
struct alignas(16) WindowRows {
  const T* rows[kRowsPerGroup];
  int ends[kRowsPerGroup];
};

template <class T, class F>
struct alignas(16) Windows {
  WindowRows<T> groups[kWindowRows * kMaxTaps / kRowsPerGroup];
  typename F::RowWeight weights[kWindowRows][kMaxTaps];
  int rows;
};

// Lists the source rows of a band, whose output rows have kTaps taps each. All threads of the block
// take part.
template <int kTaps, class Op, class T>
__device__ void fill_windows(const Op& op, const ResizePlan& plan, const Image<const T>& from,
                             const BandColumn& column, Windows<T, typename Op::Form>& windows) {
  const auto taps_y = [&](int y) {
    return taps_at<typename Op::Weight>(op.coefficients, column.n, op.coefficients.width + y);
  };
  constexpr int kGroups = kWindowRows * kTaps / kRowsPerGroup;
  for (int g = thread_of_block(); g < kGroups; g += blockDim.x) windows.groups[g] = {};
  for (int i = thread_of_block(); i < (column.end - column.begin) * kTaps; i += blockDim.x)
    windows.weights[i / kTaps][i % kTaps] =
        Op::Form::row_weight(taps_y(column.begin + i / kTaps).weights[i % kTaps]);
  __syncthreads();
  if (threadIdx.x < kWarp) {
    const int lane = static_cast<int>(threadIdx.x), y = column.begin + lane;
    const int first = taps_y(smaller(y, column.end - 1)).first;
    const int before = __shfl_up_sync(kAllLanes, first, 1);
    const int fresh = lane == 0 ? kTaps : smaller(first - before, kTaps);  // rows not listed yet
    const int last = warp_inclusive_sum(fresh);                            // rows listed so far
    for (int k = 0; k < fresh; ++k) {
      const int row = clamp_int(first + kTaps - fresh + k, plan.top, plan.bottom - 1);
      const int i = last - fresh + k;
      windows.groups[i / kRowsPerGroup].rows[i % kRowsPerGroup] = &from.at(row, 0, 0);
    }
    const int i = last - 1;
    if (y < column.end) atomicAdd(&windows.groups[i / kRowsPerGroup].ends[i % kRowsPerGroup], 1);
    if (lane == kWarp - 1) {
      windows.rows = last;
      for (int rest = last; rest % kRowsPerGroup != 0; ++rest)
        windows.groups[rest / kRowsPerGroup].rows[rest % kRowsPerGroup] = &from.at(plan.top, 0, 0);
    }
  }
  __syncthreads();
}

// A thread's value of the rows of a band: the sums of the last source rows are in registers.
template <int kTaps, class Op, class T>
__device__ void slide_window(const Op& op, const ResizePlan& plan, const Image<const T>& from,
                             const BandColumn& column,
                             const Windows<T, typename Op::Form>& windows) {
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  constexpr int kRows =
      kTaps == 4 ? kRowsPerGroup : kRowsPerGroup / 2;  // whose pixels registers hold
  const Taps<Weight> taps = taps_at<Weight>(op.coefficients, column.n, column.x);
  const bool inside = taps.first >= plan.left && taps.first + kTaps <= plan.right;
  const bool body = op.in_body(column.n, column.x, column.channel);
  int64_t columns[kTaps];
  Weight weights[kTaps];
#pragma unroll
  for (int k = 0; k < kTaps; ++k) {
    columns[k] = clamp_int(taps.first + k, plan.left, plan.right - 1) * from.stride_x +
                 column.channel * from.stride_c;
    weights[k] = taps.weights[k];
  }
  typename F::Row sums[kTaps - 1 + kRowsPerGroup] = {};
  const Image<T> to = op.output[column.n];
  T* output = &to.at(column.begin, column.target, column.channel);
  const typename F::RowWeight* row_weights = windows.weights[0];
  for (int g = 0; g * kRowsPerGroup < windows.rows; ++g) {
    const WindowRows<T>& group = windows.groups[g];
#pragma unroll
    for (int k = 0; k < kTaps - 1; ++k) sums[k] = sums[k + kRowsPerGroup];
#pragma unroll
    for (int first = 0; first < kRowsPerGroup; first += kRows) {
      T read[kRows][kTaps];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int k = 0; k < kTaps; ++k) read[i][k] = group.rows[first + i][columns[k]];
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        sums[kTaps - 1 + first + i] = F::horizontal(
            Taps<Weight>{0, kTaps, weights}, inside,
            [&](int k) { return static_cast<typename F::Term>(load_term(read[i][k])); });
    }
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      for (int ends = group.ends[i]; ends > 0; --ends) {
        *output = vertical_sum<F>(Taps<typename F::RowWeight>{0, kTaps, row_weights}, body,
                                  [&](int k) { return sums[i + k]; });
        output += to.stride_y;
        row_weights += kMaxTaps;
      }
    }
  }
}

// A thread owns one value of each row of a band. It sums each source row that these need
// horizontally once, and then vertically the last four or eight of these sums. The block holds the
// list of the source rows and the weights of the band, 5 KiB. A source row is read once per band
// and tap, a sector of it by one warp.
template <class Op>
__global__ void __launch_bounds__(kBandThreads,
                                  blocks_of(kBandThreads,
                                            sizeof(typename Op::Value) == 8 ? 96 : 72))
    resize_windows_kernel(const Op op, int lanes) {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  __shared__ Windows<T, F> windows;
  BandColumn column;
  if (!find_value<kWindowRows>(op, lanes, column)) return;
  const ResizePlan plan = op.coefficients.plans[op.coefficients.set_of(column.n)];
  const auto from = op.source[column.n];
  const auto run = [&](auto count) {
    constexpr int kTaps = decltype(count)::value;
    fill_windows<kTaps>(op, plan, from, column, windows);
    if (column.exists) slide_window<kTaps>(op, plan, from, column, windows);
  };
  // Images that keep their size have one tap.
  const int row = op.coefficients.width + column.begin;
  const int taps =
      plan.form != ResizeForm::kTwoPass ? 0 : taps_at<Weight>(op.coefficients, column.n, row).count;
  if constexpr (!std::is_same_v<F, FixedTaps<false>>) {
    if (taps == 4) return run(std::integral_constant<int, 4>{});
  }
  if constexpr (!std::is_same_v<F, FixedTaps<true>>) {
    if (taps == 8) return run(std::integral_constant<int, 8>{});
  }
  if (!column.exists) return;
  store_values(op, column, [&](int y) {
    if (plan.form != ResizeForm::kTwoPass) return store<T>(0.0f);
    return op.template sampled<F>(plan, from, column.n, y, column.x, column.channel);
  });
}

}  // namespace
}  // namespace orbbec
