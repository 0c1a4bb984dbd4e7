// The CUDA kernel of a resize whose vertical sums run in the order of the taps: area and Pillow's
// filters. Included by resize_cuda.cu.
#pragma once

#include "columns_cuda.h"

namespace orbbec {
namespace {

constexpr int kMostGroups = 96;  // of source rows of a band that are added in order

// Whether taps of weight 0 change no sum: integer pixels are neither infinite nor NaN, and sums of
// -0 become 0.
template <class T>
constexpr bool kIgnoresZeros = std::is_integral_v<T>;

// What kTogether source rows add to the two output rows that read each: the current one and the
// next.
template <class Weight>
struct alignas(16) RowGroup {
  Weight weights[kTogether][2];
  uint8_t adds[kTogether][2];
  uint8_t ends[kTogether];  // whether this is the last source row of the current row
};

// The horizontal sums of a thread's value: kTaps taps in registers, all within the image. A thread
// with fewer taps has some of weight 0 before or after them. kStride: from pixel to pixel; 0: that
// of the image.
template <class Op, int kTaps, int kStride>
struct TapsInRegisters {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  static constexpr int kRows = kTaps <= 6 ? kTogether : kTogether / 2;  // that registers hold

  int64_t offset, stride;
  int begin, end;  // of the thread's taps
  Weight weights[kTaps];

  __device__ TapsInRegisters(const ResizePlan& plan, const Image<const T>& from,
                             const Taps<Weight>& taps, int64_t channel) {
    const int first = smaller(taps.first, plan.right - kTaps);
    begin = taps.first - first;
    end = begin + taps.count;
    stride = kStride > 0 ? kStride : static_cast<int64_t>(from.stride_x);
    offset = first * stride + channel * from.stride_c;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const Weight weight = taps.weights[clamp_int(k - begin, 0, taps.count - 1)];
      weights[k] = k >= begin && k < end ? weight : Weight(0);
    }
  }

  // Of source rows `step` apart, from `row` on.
  __device__ void operator()(const T* row, int64_t step, typename F::Row (&sums)[kTogether]) const {
    row += offset;
#pragma unroll
    for (int first = 0; first < kTogether; first += kRows) {
      T read[kRows][kTaps];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int k = 0; k < kTaps; ++k) read[i][k] = row[k * (kStride > 0 ? kStride : stride)];
        row += step;
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) sums[first + i] = sum(read[i]);
    }
  }

  __device__ typename F::Row sum(const T (&read)[kTaps]) const {
    const auto term = [&](int k) { return static_cast<typename F::Term>(load_term(read[k])); };
    if constexpr (std::is_integral_v<Weight>) {
      return F::horizontal(Taps<Weight>{0, kTaps, weights}, true, term);
    } else {
      auto sum = F::start();
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        const auto more = sum + term(k) * weights[k];
        sum = kIgnoresZeros<T> || (k >= begin && k < end) ? more : sum;
      }
      return F::row(sum, true);
    }
  }
};

// The same with any number of taps, in memory.
template <class Op>
struct TapsInMemory {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;

  int64_t offset, stride;
  Taps<Weight> taps;

  __device__ TapsInMemory(const Image<const T>& from, const Taps<Weight>& taps, int64_t channel)
      : offset(taps.first * static_cast<int64_t>(from.stride_x) + channel * from.stride_c),
        stride(from.stride_x),
        taps(taps) {}

  __device__ void operator()(const T* row, int64_t step, typename F::Row (&sums)[kTogether]) const {
    for (int i = 0; i < kTogether; ++i) {
      const T* const pixels = row + i * step + offset;
      sums[i] = F::horizontal(taps, true, [&](int k) {
        return static_cast<typename F::Term>(load_term(pixels[k * stride]));
      });
    }
  }
};

// The source rows that a band reads, in groups.
struct BandRows {
  int first, end, bottom;  // bottom: of the image
  bool last_ends_two;      // the last two output rows end with the same source row

  __device__ int groups() const { return (end - first + kTogether - 1) / kTogether; }
  __device__ int group_of(int row) const { return (row - first) / kTogether; }
  // The first row of a group; near the bottom, groups share rows.
  __device__ int first_of(int group) const {
    return smaller(first + group * kTogether, bottom - kTogether);
  }
};

// A thread's value of the rows of a band.
template <class Op>
struct BandOfValue {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  using Row = typename F::Row;

  const Op& op;
  const OwnValue& own;

  // Adds each source row to the two output rows that read it.
  template <class Sums>
  __device__ void add_in_order(const Sums& sums, const BandRows& band,
                               const RowGroup<Weight>* groups) const {
    const Image<const T> from = op.source[own.n];
    const Image<T> to = op.output[own.n];
    typename F::Sum current = F::start(), next = F::start();
    T* output = &to.at(own.begin, own.target, own.channel);
    const auto end_row = [&] {
      *output = F::finished(current);
      output += to.stride_y;
      current = next;
      next = F::start();
    };
    const T* row = &from.at(band.first_of(0), 0, 0);
    const T* const last = &from.at(band.first_of(band.groups() - 1), 0, 0);
    const int64_t step = from.stride_y;
    const RowGroup<Weight>* const end = groups + band.groups();
    for (const RowGroup<Weight>* group = groups; group < end; ++group, row += kTogether * step) {
      Row sum[kTogether];
      sums(group + 1 < end ? row : last, step, sum);
      Weight weights[kTogether][2];
      uint64_t adds;
      uint32_t ends;
      memcpy(weights, group->weights, sizeof(weights));
      memcpy(&adds, group->adds, sizeof(adds));
      memcpy(&ends, group->ends, sizeof(ends));
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        if (kIgnoresZeros<T> || (adds >> 16 * i & 1) != 0)
          current = F::add(current, sum[i], weights[i][0]);
        if (kIgnoresZeros<T> || (adds >> (16 * i + 8) & 1) != 0)
          next = F::add(next, sum[i], weights[i][1]);
        if ((ends & 0xffu << 8 * i) != 0) end_row();
      }
    }
    if (band.last_ends_two) end_row();
  }

  // Keeps the sums of the last `kept` source rows, a power of two, in the thread's column of
  // `ring`.
  template <class Sums>
  __device__ void keep_in_ring(const Sums& sums, int bottom, Row* ring, int kept) const {
    const Image<const T> from = op.source[own.n];
    const Image<T> to = op.output[own.n];
    const auto slot = [&](int row) -> Row& { return ring[(row & (kept - 1)) * blockDim.x]; };
    int next = 0;
    for (int y = own.begin; y < own.end; ++y) {
      const auto taps = taps_at<Weight>(op.coefficients, own.n, op.coefficients.width + y);
      next = larger(next, taps.first);
      for (; next < taps.first + taps.count; next += kTogether) {
        const int first = smaller(next, bottom - kTogether);
        Row row[kTogether];
        sums(&from.at(first, 0, 0), from.stride_y, row);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) slot(first + i) = row[i];
      }
      to.at(y, own.target, own.channel) =
          F::vertical(taps, false, [&](int k) { return load_term(slot(taps.first + k)); });
    }
  }
};

// What the source rows of a band add. All threads of the block take part in its functions.
template <class Op>
struct BandTaps {
  using Weight = typename Op::Weight;

  const Op& op;
  const OwnValue& own;

  __device__ Taps<Weight> operator[](int y) const {
    return taps_at<Weight>(op.coefficients, own.n, op.coefficients.width + y);
  }
  __device__ int end_of(int y) const {
    const Taps<Weight> taps = (*this)[y];
    return taps.first + taps.count;
  }

  // Whether no source row is read by more than two output rows, each ends with another row but the
  // last two, and all rows fit the groups.
  __device__ bool adds_to_two_rows(const BandRows& band) const {
    bool two = band.groups() <= kMostGroups;
    for (int y = own.begin + thread_of_block(); y < own.end - 2; y += blockDim.x) {
      const int end = end_of(y);
      two = two && end <= (*this)[y + 2].first && end < end_of(y + 1);
    }
    return __syncthreads_and(two);
  }

  __device__ void fill(const BandRows& band, RowGroup<Weight> (&groups)[kMostGroups]) const {
    for (int g = thread_of_block(); g < band.groups(); g += blockDim.x) groups[g] = {};
    __syncthreads();
    const auto most = static_cast<int>(op.coefficients.taps_y);
    for (int i = thread_of_block(); i < (own.end - own.begin) * most; i += blockDim.x) {
      const int y = own.begin + i / most, k = i % most;
      const Taps<Weight> taps = (*this)[y];
      if (k >= taps.count) continue;
      const int row = taps.first + k, before = y > own.begin ? end_of(y - 1) : band.first;
      RowGroup<Weight>& group = groups[band.group_of(row)];
      const int at = row - band.first_of(band.group_of(row)), which = row < before;
      group.weights[at][which] = taps.weights[k];
      group.adds[at][which] = 1;
      // Of two output rows that end here, the first ends for both.
      if (k == taps.count - 1 && (y == own.begin || before != row + 1)) group.ends[at] = 1;
    }
    __syncthreads();
  }
};

// Calls `use` with the numbers of taps and the stride of TapsInRegisters that are best for `count`
// taps, or with 0 taps for TapsInMemory. All lanes of the warp take part.
template <class T, class Use>
__device__ void with_taps(const ResizePlan& plan, int64_t stride, int count, const Use& use) {
  using std::integral_constant;
  const int width = plan.right - plan.left;
  const auto fit = [&](int taps) { return width >= taps && !__any_sync(kAllLanes, count > taps); };
  const auto with_stride = [&](auto fixed) {
    if (fit(4)) return use(integral_constant<int, 4>{}, fixed);
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (fit(5)) return use(integral_constant<int, 5>{}, fixed);
      if (fit(6)) return use(integral_constant<int, 6>{}, fixed);
    }
    if (fit(8)) return use(integral_constant<int, 8>{}, fixed);
    use(integral_constant<int, 0>{}, integral_constant<int, 0>{});
  };
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (stride == 1) return with_stride(integral_constant<int, 1>{});
    if (stride == 3) return with_stride(integral_constant<int, 3>{});
  }
  with_stride(integral_constant<int, 0>{});
}

// Rows of a band whose source rows fit the groups, if they are added in order. All threads of the
// block take part.
template <class Op, class T>
__device__ __forceinline__ void resize_part(const Op& op, const ResizePlan& plan,
                                            const Image<const T>& from, const OwnValue& own,
                                            int kept,
                                            RowGroup<typename Op::Weight> (&groups)[kMostGroups]) {
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  const BandTaps<Op> taps_y{op, own};
  bool in_order = false, in_ring = false;
  BandRows rows{0, 0, plan.bottom, false};
  if (plan.form == ResizeForm::kTwoPass && !plan.vertical_first &&
      plan.bottom - plan.top >= kTogether) {
    rows.first = taps_y[own.begin].first;
    rows.end = taps_y.end_of(own.end - 1);
    rows.last_ends_two = own.end - own.begin > 1 && taps_y.end_of(own.end - 2) == rows.end;
    in_order = taps_y.adds_to_two_rows(rows);
    in_ring = op.coefficients.taps_y + kTogether - 1 <= kept;
  }
  if (!in_order && !in_ring) {
    if (own.exists) compute_values(op, plan, from, own);
    return;
  }
  if (in_order) taps_y.fill(rows, groups);
  const Taps<Weight> taps_x = taps_at<Weight>(op.coefficients, own.n, own.x);
  const BandOfValue<Op> band{op, own};
  const auto run = [&](auto taps, auto stride) {
    constexpr int kTaps = decltype(taps)::value, kStride = decltype(stride)::value;
    const auto finish = [&](const auto& sums) {
      if (in_order) {
        band.add_in_order(sums, rows, groups);
      } else if constexpr (kStride == 0 && kIsPillow<F>) {
        band.keep_in_ring(sums, plan.bottom, dynamic_shared<typename F::Row>() + threadIdx.x, kept);
      }
    };
    if (!own.exists) return;
    if constexpr (kTaps > 0) {
      finish(TapsInRegisters<Op, kTaps, kStride>(plan, from, taps_x, own.channel));
    } else {
      finish(TapsInMemory<Op>(from, taps_x, own.channel));
    }
  };
  with_taps<T>(plan, in_order ? static_cast<int64_t>(from.stride_x) : 0, taps_x.count, run);
}

// How many rows of a band are done at a time, so that their source rows fit the groups.
template <class Op>
__device__ int rows_at_a_time(const Op& op, const OwnValue& own) {
  const BandTaps<Op> taps_y{op, own};
  const int64_t source_rows = taps_y.end_of(own.end - 1) - taps_y[own.begin].first;
  const int64_t most = kMostGroups * kTogether - op.coefficients.taps_y;
  int rows = kBandRows;
  while (rows > 1 && source_rows * rows > most * (own.end - own.begin)) rows /= 2;
  return rows;
}

// Blocks that fit a multiprocessor at least: as many as registers allow without spills.
template <class T, class Form>
constexpr int kBandBlocks = sizeof(T) == 1   ? (kIsPillow<Form> ? 2 : 3)
                            : sizeof(T) == 4 ? 2
                                             : 1;

// A thread owns one value of each row of a band. It sums each source row that these need
// horizontally once, and adds it to the two output rows that read it; or, where more output rows
// do, keeps it in its column of a ring in shared memory. The block holds what the source rows
// add, 5 to 8 KiB. A source row is read once per band and tap, a sector of it by one warp.
template <class Op>
__global__ void __launch_bounds__(kBandThreads,
                                  (kBandBlocks<typename Op::Value, typename Op::Form>))
    resize_bands_kernel(const Op op, int lanes, int kept) {
  using T = typename Op::Value;
  using F = typename Op::Form;
  using Weight = typename Op::Weight;
  __shared__ RowGroup<Weight> groups[kMostGroups];
  __shared__ RowTaps<T, typename GrowingArea<T>::Weight> growing[kBandRows];
  OwnValue own;
  if (!find_value(op, lanes, own)) return;
  const ResizePlan plan = op.coefficients.plans[op.coefficients.set_of(own.n)];
  const auto from = op.source[own.n];
  if constexpr (std::is_same_v<F, AreaTaps<T>>) {
    if (plan.form == ResizeForm::kUp) {
      fill_row_taps<GrowingArea<T>>(op, plan, from, own, growing);
      if (own.exists) sum_two_taps<GrowingArea<T>>(op, plan, from, own, growing);
      return;
    }
  }
  if constexpr (kIsPillow<F>) {  // has the ring if not all rows fit the groups
    resize_part(op, plan, from, own, kept, groups);
    return;
  }
  OwnValue part = own;
  const int rows = plan.form == ResizeForm::kTwoPass ? rows_at_a_time(op, own) : kBandRows;
  for (part.begin = own.begin; part.begin < own.end; part.begin = part.end) {
    part.end = own.end - part.begin < rows ? own.end : part.begin + rows;
    resize_part(op, plan, from, part, kept, groups);
    __syncthreads();  // the groups are read until here
  }
}

}  // namespace
}  // namespace orbbec
