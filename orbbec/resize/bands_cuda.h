// The CUDA kernel of a resize whose vertical sums run in the order of the taps: area and Pillow's
// filters. A block owns a band of output rows, a thread a column of it: it sums each source row
// horizontally once and adds that to the output rows. Included by resize_cuda.cu and crop_cuda.cu.
#pragma once

#include "pixel_taps_cuda.h"

namespace orbbec {
namespace {

constexpr int kMaxGroups = 96;  // of source rows of a band that are added in order

// Whether two output rows read at most one source row in common: the last of one is the first of
// the other.
template <class Form>
constexpr bool kSharesOneRow = false;
template <class T>
constexpr bool kSharesOneRow<AreaTaps<T>> = true;

// What kRowsPerGroup source rows add to the two output rows that read each: the current one and the
// next.
template <class Weight>
struct alignas(16) RowGroup {
  Weight weights[kRowsPerGroup][2];
  uint8_t adds[kRowsPerGroup][2];
  uint8_t ends[kRowsPerGroup];  // whether this is the last source row of the current row
};

// The source rows that a band reads, in groups.
struct BandRows {
  int first, end, bottom;  // bottom: of the image
  bool last_ends_two;      // the last two output rows end with the same source row

  __device__ int groups() const { return (end - first + kRowsPerGroup - 1) / kRowsPerGroup; }
  __device__ int group_of(int row) const { return (row - first) / kRowsPerGroup; }
  // The first row of a group; near the bottom, groups share rows.
  __device__ int first_of(int group) const {
    return smaller(first + group * kRowsPerGroup, bottom - kRowsPerGroup);
  }
};

// A thread's columns of a ring of source rows in shared memory.
template <class Row, int kChannels>
struct Ring {
  Row* first;
  int rows;  // a power of two

  __device__ Row& at(int row, int c) const {
    return first[((row & (rows - 1)) * kChannels + c) * blockDim.x];
  }
  __device__ void keep(int row, const Row (&sum)[kRowsPerGroup][kChannels]) const {
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) at(row + i, c) = sum[i][c];
    }
  }
};

// What a thread owns of the rows of a band.
template <class Op, class Sums>
struct ThreadBand {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  using Row = typename F::Row;
  static constexpr int kChannels = Sums::kChannels;

  const Op& op;
  const BandColumn& column;
  const Sums& sums;
  StoreOf<T, kChannels> store;

  __device__ ThreadBand(const Op& op, const BandColumn& column, const Sums& sums)
      : op(op), column(column), sums(sums), store(op.output[column.n], column) {}

  __device__ void finish(const typename F::Sum (&sum)[kChannels]) {
    T values[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) values[c] = F::finished(sum[c]);
    store(values);
  }

  __device__ void sum_rows(const Image<const T>& from, int first,
                           Row (&sum)[kRowsPerGroup][kChannels]) const {
    const bool at_edge = first == 0 || first + kRowsPerGroup == from.height;
    sums(&from.at(first, 0, 0), from.stride_y, at_edge, sum);
  }

  // Sums each source row horizontally, and adds it to the two output rows that read it, as `groups`
  // say; or, if not `in_order`, keeps the sums of the last source rows in a ring.
  __device__ void run(const BandRows& band, bool in_order,
                      const RowGroup<Weight> (&groups)[kMaxGroups],
                      const Ring<Row, kChannels>& ring) {
    const Image<const T> from = op.source[column.n];
    OpenRows open;
    int y = column.begin;
    const RowGroup<Weight>* group = groups;
    for (int g = 0; g < band.groups(); ++g) {
      const int first = band.first_of(g);
      Row sum[kRowsPerGroup][kChannels];
      sum_rows(from, first, sum);
      if (!kIsPillow<F> || in_order) {
        add_rows(*group++, sum, open);
      } else if constexpr (kIsPillow<F>) {
        ring.keep(first, sum);
        for (; y < column.end; ++y) {
          const auto taps = taps_at<Weight>(op.coefficients, column.n, op.coefficients.width + y);
          if (taps.first + taps.count > first + kRowsPerGroup) break;
          sum_vertically(taps, ring);
        }
      }
    }
    if (in_order && band.last_ends_two) end_row(open);
  }

 private:
  // The sums of the current output row and the next.
  struct OpenRows {
    typename F::Sum current[kChannels], next[kChannels];

    __device__ OpenRows() {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) current[c] = next[c] = F::start();
    }
  };

  __device__ void end_row(OpenRows& open) {
    finish(open.current);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) open.current[c] = open.next[c], open.next[c] = F::start();
  }

  __device__ void add_rows(const RowGroup<Weight>& group,
                           const Row (&sum)[kRowsPerGroup][kChannels], OpenRows& open) {
    Weight weights[kRowsPerGroup][2];
    uint64_t adds;
    uint32_t ends;
    memcpy(weights, group.weights, sizeof(weights));
    memcpy(&adds, group.adds, sizeof(adds));
    memcpy(&ends, group.ends, sizeof(ends));
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      const auto add = [&](typename F::Sum(&to)[kChannels], int which) {
        if (!kIgnoresZeros<T> && (adds >> (16 * i + 8 * which) & 1) == 0) return;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) to[c] = F::add(to[c], sum[i][c], weights[i][which]);
      };
      const bool ends_here = (ends & 0xffu << 8 * i) != 0;
      add(open.current, 0);
      if (ends_here || !kSharesOneRow<F>) add(open.next, 1);
      if (ends_here) end_row(open);
    }
  }

  __device__ void sum_vertically(const Taps<Weight>& taps, const Ring<Row, kChannels>& ring) {
    typename F::Sum sum[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sum[c] = F::start();
    for (int k = 0; k < taps.count; ++k) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c)
        sum[c] = F::add(sum[c], ring.at(taps.first + k, c), taps.weights[k]);
    }
    finish(sum);
  }
};

// What the source rows of a band add. All threads of the block take part in its functions.
template <class Op>
struct BandTaps {
  using Weight = typename Op::Weight;

  const Op& op;
  const BandColumn& column;

  __device__ Taps<Weight> operator[](int y) const {
    return taps_at<Weight>(op.coefficients, column.n, op.coefficients.width + y);
  }
  __device__ int end_of(int y) const {
    const Taps<Weight> taps = (*this)[y];
    return taps.first + taps.count;
  }

  // Whether no source row is read by more than two output rows, each ends with another row but the
  // last two, and all rows fit the groups.
  __device__ bool adds_to_two_rows(const BandRows& band) const {
    bool two = band.groups() <= kMaxGroups;
    for (int y = column.begin + thread_of_block(); y < column.end - 1; y += blockDim.x) {
      const int end = end_of(y);
      if (kSharesOneRow<typename Op::Form>) two = two && end <= (*this)[y + 1].first + 1;
      if (y < column.end - 2) two = two && end <= (*this)[y + 2].first && end < end_of(y + 1);
    }
    return __syncthreads_and(two);
  }

  __device__ void fill(const BandRows& band, RowGroup<Weight> (&groups)[kMaxGroups]) const {
    for (int g = thread_of_block(); g < band.groups(); g += blockDim.x) groups[g] = {};
    __syncthreads();
    const auto most = static_cast<int>(op.coefficients.taps_y);
    for (int i = thread_of_block(); i < (column.end - column.begin) * most; i += blockDim.x) {
      const int y = column.begin + i / most, k = i % most;
      const Taps<Weight> taps = (*this)[y];
      if (k >= taps.count) continue;
      const int row = taps.first + k, before = y > column.begin ? end_of(y - 1) : band.first;
      RowGroup<Weight>& group = groups[band.group_of(row)];
      const int at = row - band.first_of(band.group_of(row)), which = row < before;
      group.weights[at][which] = taps.weights[k];
      group.adds[at][which] = 1;
      // Of two output rows that end here, the first ends for both.
      if (k == taps.count - 1 && (y == column.begin || before != row + 1)) group.ends[at] = 1;
    }
    __syncthreads();
  }
};

// Whether TapsInWords read what the threads of a block own. All of them take part.
template <class Op, class T>
__device__ bool can_read_words(const Op& op, const ResizePlan& plan, const Image<const T>& from,
                               const BandColumn& column) {
  const int count = op.coefficients.count[op.coefficients.entry(column.n, column.x)];
  const int taps = count <= 4 ? 4 : count <= 6 ? count : 8;
  const bool fit = count <= taps && taps <= plan.right - plan.left;
  return __syncthreads_and(fit && from.stride_y >= kWordBytes);
}

// Rows of a band whose source rows fit the groups, if they are added in order. All threads of the
// block take part.
template <int kChannels, class Op, class T>
__device__ __forceinline__ void resize_part(const Op& op, const ResizePlan& plan,
                                            const Image<const T>& from, const BandColumn& column,
                                            int ring_rows,
                                            RowGroup<typename Op::Weight> (&groups)[kMaxGroups]) {
  using F = typename Op::Form;
  const BandTaps<Op> taps_y{op, column};
  bool in_order = false, in_ring = false;
  BandRows rows{0, 0, plan.bottom, false};
  if (plan.form == ResizeForm::kTwoPass && !plan.vertical_first &&
      plan.bottom - plan.top >= kRowsPerGroup) {
    rows.first = taps_y[column.begin].first;
    rows.end = taps_y.end_of(column.end - 1);
    rows.last_ends_two = column.end - column.begin > 1 && taps_y.end_of(column.end - 2) == rows.end;
    in_order = taps_y.adds_to_two_rows(rows);
    in_ring = op.coefficients.taps_y + kRowsPerGroup - 1 <= ring_rows;
  }
  if (in_order) taps_y.fill(rows, groups);
  const bool is_readable = kChannels == 1 || can_read_words(op, plan, from, column);
  if ((!in_order && !in_ring) || !is_readable) {
    return for_each_value<kChannels>(op, column, [&](const BandColumn& value) {
      store_values(op, value,
                   [&](int y) { return op.value(plan, from, value.n, y, value.x, value.channel); });
    });
  }
  const auto taps = taps_at<typename Op::Weight>(op.coefficients, column.n, column.x);
  const Ring<typename F::Row, kChannels> ring{dynamic_shared<typename F::Row>() + threadIdx.x,
                                              ring_rows};
  const SumsOf<Op, kChannels> sums(plan, from, taps, column.channel);
  if (kChannels > 1 || column.exists)
    ThreadBand(op, column, sums).run(rows, in_order, groups, ring);
}

// How many rows of a band are done at a time, so that their source rows fit the groups.
template <class Op>
__device__ int rows_at_a_time(const Op& op, const BandColumn& column) {
  const BandTaps<Op> taps_y{op, column};
  const int64_t source_rows = taps_y.end_of(column.end - 1) - taps_y[column.begin].first;
  const int64_t most = kMaxGroups * kRowsPerGroup - op.coefficients.taps_y;
  int rows = kBandRows;
  while (rows > 1 && source_rows * rows > most * (column.end - column.begin)) rows /= 2;
  return rows;
}

// A thread owns one value, or a pixel, of each row of a band. It sums each source row that these
// need horizontally once, and adds it to the two output rows that read it; or, where more output
// rows do, keeps it in its column of a ring in shared memory. The block holds what the source rows
// add, 5 to 8 KiB. A source row is read once per band and tap, a sector of it by one warp.
template <class Op, int kChannels>
__global__ void __launch_bounds__(kBandThreads,
                                  blocks_of(kBandThreads,
                                            sizeof(typename Op::Value) == 8 ? 128 : 72))
    resize_bands_kernel(const Op op, int lanes, int ring_rows) {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  __shared__ RowGroup<Weight> groups[kMaxGroups];
  __shared__ RowTaps<T, typename GrowingArea<T>::Weight> growing[kBandRows];
  BandColumn column;
  if (!find_value<kBandRows, kChannels>(op, lanes, column)) return;
  const ResizePlan plan = op.coefficients.plans[op.coefficients.set_of(column.n)];
  const auto from = op.source[column.n];
  if constexpr (std::is_same_v<F, AreaTaps<T>>) {
    if (plan.form == ResizeForm::kUp) {
      fill_row_taps<GrowingArea<T>>(op, plan, from, column, growing);
      return for_each_value<kChannels>(op, column, [&](const BandColumn& value) {
        sum_two_taps<GrowingArea<T>>(op, plan, from, value, growing);
      });
    }
  }
  if constexpr (kIsPillow<F>) {  // has the ring if not all rows fit the groups
    resize_part<kChannels>(op, plan, from, column, ring_rows, groups);
    return;
  }
  const int end = column.end;
  const int rows = plan.form == ResizeForm::kTwoPass ? rows_at_a_time(op, column) : kBandRows;
  for (; column.begin < end; column.begin = column.end) {
    column.end = smaller(end, column.begin + rows);
    resize_part<kChannels>(op, plan, from, column, ring_rows, groups);
    __syncthreads();  // the groups are read until here
  }
}

struct BandLaunch {
  dim3 grid, block;
  int ring_rows;
  size_t ring_bytes;
};

// For bands of `rows` rows, with at least `min_threads` threads in a block. The ring has a power of
// two rows, for the taps of an output row and the rows that are summed together; none if it does
// not fit, or all images are added in order.
template <int kChannels, class Op>
BandLaunch band_launch(const Op& op, int lanes, int rows, unsigned min_threads,
                       int64_t max_ring_bytes) {
  constexpr auto kRowBytes = static_cast<int64_t>(kChannels * sizeof(typename Op::Form::Row));
  int64_t ring_rows = kIsPillow<typename Op::Form> ? 8 : 0;
  while (ring_rows > 0 && ring_rows < op.coefficients.taps_y + kRowsPerGroup - 1) ring_rows *= 2;
  if (ring_rows * kRowBytes * min_threads > max_ring_bytes) ring_rows = 0;
  int most = kBandThreads;
  while (ring_rows * kRowBytes * most > max_ring_bytes) most /= 2;
  dim3 block = whole_warps(op.output, lanes / kChannels, most);
  block.x = larger(block.x, min_threads);
  return {band_grid(op.output, lanes, block, rows, kChannels), block, static_cast<int>(ring_rows),
          static_cast<size_t>(ring_rows * kRowBytes * block.x)};
}

// Whether TapsInWords read most images: not where weights are negative.
template <class Op>
bool reads_words(const Op& op, ResizeMethod method) {
  constexpr int64_t kMaxTaps = 9;  // for which there is memory: an image has one less at least
  return method != ResizeMethod::kPillowCubic && method != ResizeMethod::kPillowLanczos &&
         lanes_of(op.output) == kPixelBytes && op.source.stride_c == 1 &&
         op.source.stride_x == kPixelBytes && op.coefficients.taps_x <= kMaxTaps;
}

}  // namespace
}  // namespace orbbec
