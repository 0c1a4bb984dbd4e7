// Separable filters on a CUDA device, of the types and windows that bytes_cuda.h does not take: a
// block loads a tile of a plane with its margins into shared memory and sums its rows, then its
// columns, a thread four values at a time.
#include "bytes_cuda.h"
#include "taps.h"

namespace orbbec {
namespace {

// Vec4 numbers of a row, summed by one thread.
template <class Number>
struct alignas(16) Vec4 {
  Number values[4];

  __device__ Number operator[](int i) const { return values[i]; }
  __device__ Vec4& operator+=(const Vec4& other) {
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] += other.values[i];
    return *this;
  }
  friend __device__ Vec4 operator+(Vec4 a, const Vec4& b) { return a += b; }
  friend __device__ Vec4 operator*(Vec4 a, Number factor) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a.values[i] *= factor;
    return a;
  }
};

// A block's tile. Each step needs the barrier after the one before.
template <class Rule>
struct RowTile {
  using T = typename Rule::Value;
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;
  using Shape = RowTileShape<Rule>;
  static constexpr int kWidth = Shape::kWidth, kLoads = 4;

  const Tile& tile;
  int64_t channels;
  Plane<const T> source;
  Plane<T> output;
  Window window;
  Rule rule;
  Shape shape;
  Row* sums;                // [rows][kWidth]
  int64_t *rows, *columns;  // offsets in the image, or -1
  Row* values;              // [rows][pitch]

  __device__ RowTile(const Separable<Rule>& op, const Tile& tile, const Tiling& tiling)
      : tile(tile),
        channels(op.source.channels),
        source(plane_of(op.source[tile.n], tile.channel, tiling.group)),
        output(plane_of(op.output[tile.n], tile.channel, tiling.group)),
        window(op.window(tile.n, source.height, source.width)),
        rule(op.arguments, tile.n, window, op.source.channels * source.width),
        shape(window, tiling.group, tile.height) {
    sums = dynamic_shared<Row>();
    rows = reinterpret_cast<int64_t*>(sums + shape.rows * kWidth);
    columns = rows + shape.rows;
    values = reinterpret_cast<Row*>(columns + shape.columns + shape.taps);
  }

  __device__ void prepare(Border border) {
    find_rows(source, tile.top - window.above(), shape.rows, border, rows);
    const int first = tile.left - window.before() * source.group;
    for (int i = threadIdx.x; i < shape.columns; i += kTileThreads) {
      columns[i] = find_value(source, first + i, border);
    }
    if constexpr (Rule::kHasTaps) {
      auto* const to = reinterpret_cast<Tap<T>*>(columns + shape.columns);
      copy_taps(0, window.height, to);
      copy_taps(1, window.width, to + window.height);
    }
  }

  // Taps are read from shared memory from here on.
  __device__ void copy_taps(int axis, int count, Tap<T>* to) {
    for (int i = threadIdx.x; i < count; i += kTileThreads) to[i] = rule.taps_of_axis[axis][i];
    rule.taps_of_axis[axis] = to;
  }

  __device__ void load_values() const {
    const auto load_value = [&](int x) {
      const int64_t column = columns[x];
      return [this, column](int y) { return value_or_zero(source.data, rows[y], column); };
    };
    copy_rows<kLoads>(shape.rows, shape.columns, load_value, [&](int y, int x, T value) {
      values[y * shape.pitch + x] = static_cast<Row>(load<T>(value));
    });
  }

  // A thread sums every 16th column of a row.
  __device__ void sum_rows() const {
    constexpr int kApart = kWidth / 4;
    const int x = threadIdx.x % kApart;
    for (int y = threadIdx.x / kApart; y < shape.rows; y += kTileThreads / kApart) {
      const Row* const from = values + y * shape.pitch + x;
      const auto of_thread = rule.template pass<Vec4<Row>>(1, window.width, [&](int i) {
        const Row* const first = from + i * source.group;
        return Vec4<Row>{first[0], first[kApart], first[2 * kApart], first[3 * kApart]};
      });
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[y * kWidth + x + i * kApart] = of_thread[i];
    }
  }

  // A thread owns 4 columns of a row of the output.
  __device__ void sum_columns() const {
    const int x = threadIdx.x % (kWidth / 4) * 4;
    if (x >= tile.width) return;
    for (int y = threadIdx.x / (kWidth / 4); y < tile.height; y += kTileThreads / (kWidth / 4)) {
      const auto* const from = reinterpret_cast<const Vec4<Row>*>(sums + y * kWidth + x);
      store(y, x, rule.template pass<Vec4<Sum>>(0, window.height, [&](int i) {
        const Vec4<Row> row = from[i * (kWidth / 4)];
        return Vec4<Sum>{row[0], row[1], row[2], row[3]};
      }));
    }
  }

  __device__ void store(int y, int x, const Vec4<Sum>& sum) const {
    struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Values {
      T values[4];
    };
    const int64_t value = int64_t{tile.left} + x;
    const int64_t step = output.group > 1 ? 1 : channels, index = value * step + tile.channel;
    T* const to = output.at(tile.top + y, value);
    Values finished;
#pragma unroll
    for (int i = 0; i < 4; ++i) finished.values[i] = rule.finish(sum[i], index + i * step);
    const bool is_whole = x + 4 <= tile.width && output.stride_v == 1 &&
                          reinterpret_cast<uintptr_t>(to) % alignof(Values) == 0;
    if (is_whole) {
      *reinterpret_cast<Values*>(to) = finished;
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (x + i < tile.width) to[i * output.stride_v] = finished.values[i];
    }
  }
};

// The passes of a window that is too large for a tile: all rows to global memory, then all columns.
enum class Pass { kTiles, kRows, kColumns };

// A block owns a tile of a plane. kTiles: it reads the tile's pixels once, with margins, sums the
// rows that it needs, then the columns; at most 48 KiB of shared memory. The other passes read each
// number once per tap.
template <class Rule>
__global__ void __launch_bounds__(kTileThreads, blocks_of(kTileThreads, 64))
    separable_kernel(const Separable<Rule> op, const Tiling tiling, const Pass pass) {
  for_each_tile(op.source, tiling, [&](const Tile& tile) {
    if (pass == Pass::kTiles) {
      RowTile<Rule> step(op, tile, tiling);
      step.prepare(op.arguments.border);
      __syncthreads();
      step.load_values();
      __syncthreads();
      step.sum_rows();
      __syncthreads();
      step.sum_columns();
      __syncthreads();
      return;
    }
    for (int y = threadIdx.x / kWarp; y < tile.height; y += kTileThreads / kWarp) {
      for (int x = threadIdx.x % kWarp; x < tile.width; x += kWarp) {
        if (pass == Pass::kRows) op.sum_row(tile.n, tile.top + y, tile.left + x, tile.channel);
        if (pass == Pass::kColumns) {
          op.sum_column(tile.n, tile.top + y, tile.left + x, tile.channel);
        }
      }
    }
  });
}

template <class Rule>
int run_passes(const Separable<Rule>& op, void* stream) {
  const auto run = [&](const Tiling& tiling, Pass pass, int64_t shared_bytes) {
    return launch(separable_kernel<Rule>, tile_blocks(op.source, tiling), dim3(kTileThreads),
                  static_cast<size_t>(shared_bytes), stream, op, tiling, pass);
  };
  const SeparableArguments& a = op.arguments;
  const Window longest{a.longest, a.longest};
  const Tiling tiling = row_tiling<Rule>(a);
  if (tiling.height > 0) {
    return run(tiling, Pass::kTiles,
               RowTileShape<Rule>(longest, tiling.group, tiling.height).bytes());
  }
  const Tiling pixels{.group = 1, .width = 64, .height = 32};
  const int status = run(pixels, Pass::kRows, 0);
  return status != 0 ? status : run(pixels, Pass::kColumns, 0);
}

template <template <class> class Rule>
int run_separable(const SeparableArguments& arguments, void* stream) {
  return dispatch_separable<Rule>(arguments, [&](const auto& op) {
    using OpRule = typename std::decay_t<decltype(op)>::Rule;
    if constexpr (std::is_same_v<typename OpRule::Value, uint8_t>) {
      Tiling tiling = byte_tiling<OpRule>(arguments);
      if (tiling.height > 0) {
        tiling.planes = planes_of_tile(arguments.source, tiling);
        const Window longest{arguments.longest, arguments.longest};
        const ByteTileShape<OpRule> shape(longest, tiling.group, tiling.height);
        return launch(separable_bytes_kernel<OpRule>, tile_blocks(arguments.source, tiling),
                      dim3(kTileThreads), static_cast<size_t>(shape.bytes()), stream, op, tiling);
      }
    }
    return run_passes(op, stream);
  });
}

}  // namespace

int gaussian_blur_cuda(const SeparableArguments& arguments, void* stream) {
  return run_separable<GaussianRule>(arguments, stream);
}

int box_blur_cuda(const SeparableArguments& arguments, void* stream) {
  return run_separable<BoxRule>(arguments, stream);
}

int gaussian_taps_cuda(const TapsArguments& arguments, void* stream) {
  return dispatch_taps(arguments, [&](const auto& taps) {
    return for_each_item_cuda(taps, arguments.count, 2, stream);
  });
}

}  // namespace orbbec
