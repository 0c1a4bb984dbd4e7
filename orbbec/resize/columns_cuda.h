// The CUDA kernels of a resize with at most two taps per axis: a block owns a band of 64 output
// rows and has their taps in shared memory, a thread a column of it. Included by bands_cuda.h,
// windows_cuda.h and resize_cuda.cu.
#pragma once

#include "../executors/cuda/tiles.h"
#include "resize.h"

namespace orbbec {
namespace {

constexpr int kBandThreads = 224;  // of a block, at most: a row of the usual 224 pixels fills three
constexpr int kBandRows = 64;      // output rows of a block
constexpr int kRowsPerGroup = 4;   // rows whose pixels a thread loads before it computes
// Rows of threads in a block, a power of two: each thread then owns whole groups of the rows.
constexpr int kMaxThreadRows = 8;

// The values of an output row that threads own one by one: all channels where pixels are packed,
// so that a warp reads and writes adjacent bytes; else one plane after another.
inline int lanes_of(const AnyImages& output) {
  const bool packed = output.stride_c == 1 && output.stride_x == output.channels;
  const bool fits = output.width * output.channels <= 2147483647;
  return packed && fits ? static_cast<int>(output.channels) : 1;
}

// A block owns blockDim.x values, or pixels of `channels`, of every row of a band of an image, or
// of one of its planes.
inline dim3 band_grid(const AnyImages& output, int lanes, dim3 block, int rows = kBandRows,
                      int channels = 1) {
  const int64_t values = int64_t{output.width} * lanes / channels;
  const int64_t chunks = (values + block.x - 1) / block.x;
  const int64_t bands = (int64_t{output.height} + rows - 1) / rows;
  const int64_t planes = output.count * (output.channels / lanes);
  const int64_t across = planes < kMaxGridYZ ? planes : kMaxGridYZ;
  const int64_t deep = across == 0 ? 0 : (planes + across - 1) / across;
  return dim3(static_cast<unsigned>(chunks * bands), static_cast<unsigned>(across),
              static_cast<unsigned>(deep));
}

// Columns in blocks of about equal size, of whole warps unless one block has them all.
inline unsigned columns_per_block(int64_t values, int most) {
  const int64_t blocks = (values + most - 1) / most;
  const int64_t columns = (values + blocks - 1) / blocks;
  return static_cast<unsigned>(blocks == 1 ? columns : (columns + kWarp - 1) / kWarp * kWarp);
}

inline dim3 whole_warps(const AnyImages& output, int lanes, int most) {
  const unsigned columns = columns_per_block(int64_t{output.width} * lanes, most);
  return dim3((columns + kWarp - 1) / kWarp * kWarp);
}

// The column of a band that a thread owns, of one value or pixel in each row: `x` is where its taps
// are, `target` where it is in the output.
struct BandColumn {
  int64_t n, channel;
  int x, target, begin, end;  // of rows
  bool exists;                // else this is the last value of a row
};

// The size of image n of the output, within the bounds that the grid and the coefficients have.
struct OutputSize {
  int height, width;
};

template <class T>
__device__ OutputSize output_size(const Images<T>& output, int64_t n) {
  if constexpr (kMayVary<T>) {
    if (output.layout != nullptr) {
      const Image<T> image = output[n];
      return {smaller(image.height, output.height), smaller(image.width, output.width)};
    }
  }
  return {output.height, output.width};
}

// Whether there is a band of an image for the block.
template <int kRows = kBandRows, int kChannels = 1, class Op>
__device__ bool find_value(const Op& op, unsigned lanes, BandColumn& column) {
  const unsigned planes =
      lanes == op.output.channels ? 1 : static_cast<unsigned>(op.output.channels);
  lanes /= kChannels;
  const unsigned plane = blockIdx.z * gridDim.y + blockIdx.y, image = plane / planes;
  column.n = image;
  if (column.n >= op.output.count) return false;
  const OutputSize size = output_size(op.output, image);
  const unsigned values = static_cast<unsigned>(size.width) * lanes;
  if constexpr (kMayVary<typename Op::Value>) {
    if (values == 0) return false;  // its row of the table is wrong
  }
  const unsigned chunks = (values - 1) / blockDim.x + 1, band = blockIdx.x / chunks;
  const unsigned i = (blockIdx.x - band * chunks) * blockDim.x + threadIdx.x;
  column.exists = i < values;
  const unsigned at = column.exists ? i : values - 1;
  column.target = static_cast<int>(at / lanes);
  column.channel = plane - image * planes + at % lanes;
  column.x = column_of(op.flips, column.n, column.target, size.width);
  column.begin = static_cast<int>(band) * kRows;
  column.end = size.height - column.begin < kRows ? size.height : column.begin + kRows;
  return !kMayVary<typename Op::Value> || column.begin < column.end;
}

// Calls `use` with values of a block whose threads own values, or pixels of kChannels side by side:
// neighboring threads get neighboring values.
template <int kChannels, class Op, class Use>
__device__ void for_each_value(const Op& op, const BandColumn& column, const Use& use) {
  if constexpr (kChannels == 1) {
    if (column.exists) use(column);
  } else {
    const int width = output_size(op.output, column.n).width;
    const unsigned pixels = width, values = pixels * kChannels;
    const unsigned chunk = blockIdx.x % ((pixels - 1) / blockDim.x + 1);
    unsigned i = chunk * blockDim.x * kChannels + threadIdx.x;
    ORBBEC_ROLLED
    for (int k = 0; k < kChannels && i < values; ++k, i += blockDim.x) {
      BandColumn value = column;
      value.target = static_cast<int>(i / kChannels);
      value.channel = i % kChannels;
      value.x = column_of(op.flips, column.n, value.target, width);
      use(value);
    }
  }
}

__device__ int thread_of_block() {
  return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
}

// The taps of an output row.
template <class T, class Weight>
struct alignas(16) RowTaps {
  const T* rows[2];
  Weight weights[2];
  int64_t count;  // of 64 bits, since padding would be loaded with the other members
};

// The taps of a band, the last row again beyond its end. All threads of the block take part.
template <class F, class Op, class T>
__device__ void fill_row_taps(const Op& op, const ResizePlan& plan, const Image<const T>& from,
                              const BandColumn& column,
                              RowTaps<T, typename F::Weight> (&rows)[kBandRows]) {
  for (int i = thread_of_block(); i < kBandRows; i += blockDim.x * blockDim.y) {
    const int y = smaller(column.begin + i, column.end - 1);
    const auto taps =
        taps_at<typename Op::Weight>(op.coefficients, column.n, op.coefficients.width + y);
    rows[i].count = taps.count;
    for (int k = 0; k < 2; ++k) {
      rows[i].rows[k] = &from.at(clamp_int(taps.first + k, plan.top, plan.bottom - 1), 0, 0);
      rows[i].weights[k] = static_cast<typename F::Weight>(taps.weights[k]);
    }
  }
  __syncthreads();
}

// A vertical sum. The order of its taps is known when it is compiled, so that they stay in
// registers.
template <class F, class Weight, class Read>
__device__ auto vertical_sum(const Taps<Weight>& taps, bool body, const Read& read) {
  return body ? F::vertical(taps, true, read) : F::vertical(taps, false, read);
}

// The sum of one or two taps. Both are computed, so that all stays in registers; the weight of a
// missing tap is 0, which is enough for integers.
template <class F, class Sum>
__device__ auto of_two(int64_t count, const Sum& sum) {
  const auto both = sum(2);
  if constexpr (std::is_integral_v<typename F::Row>) {
    return both;
  } else {
    return count == 2 ? both : sum(1);
  }
}

// Two taps per axis; `rows`: of the band.
template <class F, class Op, class T>
__device__ void sum_two_taps(const Op& op, const ResizePlan& plan, const Image<const T>& from,
                             const BandColumn& column,
                             const RowTaps<T, typename F::Weight> (&rows)[kBandRows]) {
  using Weight = typename F::Weight;
  const auto taps = taps_at<typename Op::Weight>(op.coefficients, column.n, column.x);
  const Weight weights[2] = {static_cast<Weight>(taps.weights[0]),
                             static_cast<Weight>(taps.weights[1])};
  int64_t columns[2];
  for (int k = 0; k < 2; ++k)
    columns[k] = clamp_int(taps.first + k, plan.left, plan.right - 1) * from.stride_x +
                 column.channel * from.stride_c;
  const bool body = op.in_body(column.n, column.x, column.channel);
  const Image<T> to = op.output[column.n];
  T* const target = &to.at(0, column.target, column.channel);
  const int step = static_cast<int>(blockDim.y);
  for (int y = column.begin + static_cast<int>(threadIdx.y); y < column.end;
       y += kRowsPerGroup * step) {
    T pixels[kRowsPerGroup][2][2], values[kRowsPerGroup];
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      const RowTaps<T, Weight>& row = rows[y + i * step - column.begin];
      for (int k = 0; k < 4; ++k) pixels[i][k / 2][k % 2] = row.rows[k / 2][columns[k % 2]];
    }
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      const RowTaps<T, Weight>& row = rows[y + i * step - column.begin];
      const auto sum = [&](int ky) {
        return of_two<F>(taps.count, [&](int count) {
          return F::horizontal(Taps<Weight>{0, count, weights}, true, [&](int kx) {
            return static_cast<typename F::Term>(load_term(pixels[i][ky][kx]));
          });
        });
      };
      const typename F::Row sums[2] = {sum(0), sum(1)};
      const Weight row_weights[2] = {row.weights[0], row.weights[1]};
      values[i] = of_two<F>(row.count, [&](int count) {
        return vertical_sum<F>(Taps<Weight>{0, count, row_weights}, body,
                               [&](int k) { return sums[k]; });
      });
    }
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      const int row = y + i * step;
      if (row < column.end) target[row * to.stride_y] = values[i];
    }
  }
}

// Stores value(y) in each row of a band.
template <class Op, class Value>
__device__ void store_values(const Op& op, const BandColumn& column, const Value& value) {
  const auto to = op.output[column.n];
  for (int y = column.begin + static_cast<int>(threadIdx.y); y < column.end;
       y += static_cast<int>(blockDim.y))
    to.at(y, column.target, column.channel) = value(y);
}

// A thread owns one value of each row of a band; the taps of the rows are in 2 to 3 KiB
// of shared memory. Each source row is read by one or two output rows, a sector of it by one warp.
template <class Op>
__global__ void __launch_bounds__(kBandThreads, blocks_of(kBandThreads, 72))
    resize_two_taps_kernel(const Op op, int lanes) {
  using Form = typename Op::Form;
  __shared__ RowTaps<typename Op::Value, typename Form::Weight> rows[kBandRows];
  BandColumn column;
  if (!find_value(op, lanes, column)) return;
  const ResizePlan plan = op.coefficients.plans[op.coefficients.set_of(column.n)];
  const auto from = op.source[column.n];
  if (plan.form != ResizeForm::kTwoPass) {
    if (!column.exists) return;
    return store_values(op, column, [&](int y) {
      return op.block_or_zero(plan, from, column.n, y, column.x, column.channel);
    });
  }
  fill_row_taps<Form>(op, plan, from, column, rows);
  if (column.exists) sum_two_taps<Form>(op, plan, from, column, rows);
}

// The same for nearest: a thread copies one value of each row.
template <class T>
__global__ void __launch_bounds__(kBandThreads, 3)
    resize_nearest_kernel(const ResizeNearest<T> op, int lanes) {
  __shared__ const T* rows[kBandRows];
  BandColumn column;
  if (!find_value(op, lanes, column)) return;
  const ResizeCoefficients& table = op.coefficients;
  const bool empty = table.plans[table.set_of(column.n)].form == ResizeForm::kEmpty;
  const auto from = op.source[column.n];
  const auto to = op.output[column.n];
  for (int i = thread_of_block(); i < kBandRows; i += blockDim.x * blockDim.y) {
    const int y = smaller(column.begin + i, column.end - 1);
    rows[i] = &from.at(empty ? 0 : table.first[table.entry(column.n, table.width + y)], 0, 0);
  }
  __syncthreads();
  if (!column.exists) return;
  const int source_x = empty ? 0 : table.first[table.entry(column.n, column.x)];
  const int64_t offset = source_x * from.stride_x + column.channel * from.stride_c;
  T* const target = &to.at(0, column.target, column.channel);
  const int step = static_cast<int>(blockDim.y);
  for (int y = column.begin + static_cast<int>(threadIdx.y); y < column.end;
       y += kRowsPerGroup * step) {
    T values[kRowsPerGroup];
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i)
      values[i] = empty ? T(0) : rows[y + i * step - column.begin][offset];
#pragma unroll
    for (int i = 0; i < kRowsPerGroup; ++i) {
      const int row = y + i * step;
      if (row < column.end) target[row * to.stride_y] = values[i];
    }
  }
}

}  // namespace
}  // namespace orbbec
