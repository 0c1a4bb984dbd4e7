// median_blur on a CUDA device: a block loads a tile of a plane with its margins into shared
// memory. A thread sorts the windows of a strip of columns (3x3, 5x5), slides a window of bit
// planes down a column (7x7, 9x9), or searches for the value of one pixel.
#include "byte_pairs_cuda.h"
#include "byte_rows_cuda.h"
#include "median_planes_cuda.h"
#include "median_rows.h"

namespace orbbec {
namespace {

constexpr int kWarps = kTileThreads / kWarp;
// A thread makes kBand rows of a strip of columns, and at once the kBand rows below them.
constexpr int kBand = 8;
// Neighboring bytes, stored at once.
template <int kCount>
struct alignas(kCount) Bytes {
  uint32_t words[kCount / 4];
};
// Columns of a strip. More need too many registers, or leave threads without a strip.
ORBBEC_HD constexpr int columns_of_strip(int side, int group) {
  return side == 3 && group == 1 ? 8 : 4;
}

template <class T>
struct MedianTileShape {
  using K = Key<T>;
  static constexpr bool kIsBytes = std::is_same_v<T, uint8_t>;
  // Of a tile; of bit planes, 64 columns fit a row.
  static int width(int longest) { return sizeof(K) > 2 ? 32 : kIsBytes && longest <= 5 ? 128 : 64; }

  int rows, pitch;  // of keys
  int planes;       // words of bit planes

  ORBBEC_HD MedianTileShape(const Window& window, const Tiling& tiling, int height) {
    const int group = tiling.group;
    const bool is_by_strips = kIsBytes && window.height <= 5;
    rows = (is_by_strips ? rounded_up(height, 2 * kBand) : height) + window.height - 1;
    pitch = rounded_up(tiling.width + (window.width - 1) * group + ByteRows::kMaxShift, 32);
    planes = kIsBytes && group == 1 && is_by_planes(window) ? rows * BitRows::kWordsOfRow : 0;
  }
  ORBBEC_HD static bool is_by_planes(const Window& window) {
    return window.height == window.width && (window.width == 7 || window.width == 9);
  }
  ORBBEC_HD int64_t bytes() const {
    return int64_t{rows} * pitch * static_cast<int64_t>(sizeof(K)) + 8 +
           8 * (int64_t{rows} + pitch) + 4 * int64_t{planes};
  }
};

template <class T>
struct MedianTile {
  using K = Key<T>;
  using Shape = MedianTileShape<T>;
  static constexpr int kLoads = 4;
  using V = std::conditional_t<sizeof(K) < 4, uint32_t, K>;  // of a register

  const Tile& tile;
  Plane<const T> source;
  Plane<T> output;
  Window window;
  Shape shape;
  int64_t *rows, *columns;  // offsets in the image
  uint32_t* planes;
  K* keys;    // [rows][pitch]
  int shift;  // of a row's first key

  __device__ MedianTile(const Median<T>& op, const Tile& tile, const Tiling& tiling,
                        const Window& window)
      : tile(tile),
        source(plane_of(op.source[tile.n], tile.channel, tiling.group)),
        output(plane_of(op.output[tile.n], tile.channel, tiling.group)),
        window(window),
        shape(window, tiling, tile.height) {
    rows = dynamic_shared<int64_t>();
    columns = rows + rounded_up(shape.rows, 2);
    planes = reinterpret_cast<uint32_t*>(columns + shape.pitch);
    keys = reinterpret_cast<K*>(planes + rounded_up(shape.planes, 4));
    shift = 0;
  }

  // All threads of the block; ends with a barrier.
  __device__ void load() {
    const int first = tile.left - window.before() * source.group;
    find_rows(source, tile.top - window.above(), shape.rows, Border::kReplicate, rows);
    if constexpr (Shape::kIsBytes) {
      if (source.stride_v == 1) return load_bytes(first);
    }
    for (int i = threadIdx.x; i < shape.pitch; i += kTileThreads) {
      columns[i] = find_value(source, first + i, Border::kReplicate);
    }
    __syncthreads();
    const auto load = [&](int x) {
      const T* const from = source.data + columns[x];
      return [this, from](int y) { return from[rows[y]]; };
    };
    copy_rows<kLoads>(shape.rows, shape.pitch, load,
                      [&](int y, int x, T value) { keys[y * shape.pitch + x] = key_of<T>(value); });
    __syncthreads();
  }

  __device__ void load_bytes(int first) {
    ByteRows bytes(source, first);
    shift = bytes.shift;
    const int width = is_by_strips() ? strips() * columns_of_strip() : tile.width;
    const int end = shift + width + (window.width - 1) * source.group;
    // Whole words, and one that is read with the last two.
    if (shape.planes > 0)
      bytes.need(0, shape.pitch);
    else if (is_by_strips())
      bytes.need(shift & -4, at_most(rounded_up(end, 4) + 4, shape.pitch));
    else
      bytes.need(shift, end);
    auto* const found = reinterpret_cast<int*>(columns);
    bytes.find_columns(Border::kReplicate, found);
    __syncthreads();
    bytes.load(shape.rows, rows, found, shape.pitch, keys);
    __syncthreads();
  }

  // A warp owns some rows; a thread slides down every 32nd column.
  template <int kSide>
  __device__ void by_sorting() const {
    const int of_warp = (tile.height + kWarps - 1) / kWarps;
    const int top = static_cast<int>(threadIdx.x / kWarp) * of_warp;
    const int count = at_most(of_warp, tile.height - top);
    for (int x = threadIdx.x % kWarp; x < tile.width; x += kWarp) {
      slide<kSide>(keys + top * shape.pitch + shift + x, count,
                   output.at(tile.top + top, int64_t{tile.left} + x));
    }
  }

  template <int kSide>
  __device__ void slide(const K* from, int count, T* to) const {
    const int group = source.group, pitch = shape.pitch;
    const auto load_row = [&](V(&row)[kSide]) {
#pragma unroll
      for (int i = 0; i < kSide; ++i) row[i] = from[i * group];
      from += pitch;
    };
    if (count <= 0) return;
    SlidingMedian<V, kSide> median;
    median.start(load_row);
    for (int left = count; left > 0; left -= 2) {
      V first[kSide], second[kSide], upper, below;
      load_row(first);
      if (left == 1) from -= pitch;  // beyond the last row, any will do
      load_row(second);
      median.next(first, second, upper, below);
      *to = value_of<T>(static_cast<K>(upper));
      to += output.stride_y;
      if (left > 1) *to = value_of<T>(static_cast<K>(below));
      to += output.stride_y;
    }
  }

  // Whether the columns of all strips lie within a row of keys.
  __device__ bool is_by_strips() const {
    return Shape::kIsBytes && window.height == window.width && window.height <= 5 &&
           window.height >= 3 && source.group <= 3;
  }
  __device__ int columns_of_strip() const {
    return orbbec::columns_of_strip(window.width, source.group);
  }
  __device__ int strips() const {
    if (source.group == 1) return tiles_of(tile.width, columns_of_strip());
    const int across = source.group * columns_of_strip();
    return (tile.width + across - 1) / across * source.group;
  }

  template <int kSide>
  __device__ void by_strips() const {
    const int group = source.group, across = strips(),
              bands = (tile.height + 2 * kBand - 1) / (2 * kBand);
    const unsigned inverse = kInverses.of[across];  // exact for so few items
    for (int item = threadIdx.x; item < across * bands; item += kTileThreads) {
      const int band = static_cast<int>(item * inverse >> 16), strip = item - band * across;
      if (group == 1) {
        slide_strip<kSide, 1>(strip * columns_of_strip(), band * 2 * kBand);
      } else {
        const int first = strip / group * group * (columns_of_strip() - 1) + strip;
        slide_strip<kSide, 0>(first, band * 2 * kBand);
      }
    }
  }

  // kGroup is 0 where the group is known only at run time.
  template <int kSide, int kGroup>
  __device__ void slide_strip(int x, int top) const {
    constexpr int kOutputs = orbbec::columns_of_strip(kSide, kGroup);
    using Strip = StripMedian<BytePair, kSide, kOutputs>;
    const int group = kGroup > 0 ? kGroup : source.group, pitch = shape.pitch;
    const K* from = keys + top * pitch + (kGroup == 1 ? (shift & -4) : shift) + x;
    const auto load_row = [&](BytePair(&row)[Strip::kColumns]) {
      if constexpr (kGroup == 1) {
        constexpr int kWords = (Strip::kColumns + 3) / 4;
        uint32_t first[kWords], second[kWords];
        BytePair pairs[4 * kWords];
        const K* const below = from + kBand * pitch;
        shift_bytes<kWords>(reinterpret_cast<const uint32_t*>(from), shift, first);
        shift_bytes<kWords>(reinterpret_cast<const uint32_t*>(below), shift, second);
#pragma unroll
        for (int i = 0; i < kWords; ++i) pack_pairs(first[i], second[i], pairs + 4 * i);
#pragma unroll
        for (int i = 0; i < Strip::kColumns; ++i) row[i] = pairs[i];
      } else {
#pragma unroll
        for (int i = 0; i < Strip::kColumns; ++i) {
          row[i].bits = from[i * group] | from[i * group + kBand * pitch] << 16;
        }
      }
      from += pitch;
    };
    T* to = output.at(tile.top + top, int64_t{tile.left} + x);
    const int outputs = (tile.width - x + group - 1) / group;
    const auto address = reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(output.stride_y);
    const bool is_packed = kGroup == 1 && output.stride_v == 1;
    const bool is_whole = is_packed && outputs >= kOutputs && address % kOutputs == 0;
    const bool is_of_words = is_packed && address % 4 == 0;
    const int64_t apart = kBand * output.stride_y;
    int left = tile.height - top;
    const auto store_row = [&](const BytePair(&row)[kOutputs]) {
      Bytes<kOutputs> upper, below;
#pragma unroll
      for (int i = 0; i < kOutputs / 4; ++i)
        unpack_pairs(row + 4 * i, upper.words[i], below.words[i]);
      const auto store = [&](T* at, const Bytes<kOutputs>& bytes) {
        if (is_whole) {
          *reinterpret_cast<Bytes<kOutputs>*>(at) = bytes;
        } else {
          store_part(at, bytes, outputs, group, is_of_words);
        }
      };
      if (left > 0) store(to, upper);
      if (left > kBand) store(to + apart, below);
      to += output.stride_y;
      --left;
    };
    Strip median;
    median.start(load_row);
    ORBBEC_ROLLED
    for (int row = 0; row < kBand; row += 2) {
      BytePair first[Strip::kColumns], second[Strip::kColumns], upper[kOutputs], below[kOutputs];
      load_row(first), load_row(second);
      median.next(first, second, upper, below);
      store_row(upper), store_row(below);
    }
  }

  // The first `outputs` bytes.
  template <int kCount>
  __device__ void store_part(T* to, const Bytes<kCount>& bytes, int outputs, int group,
                             bool is_of_words) const {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const uint32_t word = bytes.words[i / 4];
      if (is_of_words && outputs >= i + 4) {
        *reinterpret_cast<uint32_t*>(to + i) = word;
        continue;
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (i + k < outputs) to[(i + k) * group * output.stride_v] = static_cast<T>(word >> 8 * k);
      }
    }
  }

  __device__ void by_counting() const {
    for (int y = threadIdx.x / kWarp; y < tile.height; y += kWarps) {
      for (int x = threadIdx.x % kWarp; x < tile.width; x += kWarp) {
        const K* const from = keys + y * shape.pitch + shift + x;
        *output.at(tile.top + y, int64_t{tile.left} + x) = value_of<T>(Median<T>::by_counting(
            window, [&](int i, int j) { return from[i * shape.pitch + j * source.group]; }));
      }
    }
  }

  template <int kSide>
  __device__ void by_planes() const {
    const BitRows bits{planes};
    bits.fill(shape.rows, keys, shape.pitch);
    __syncthreads();
    bits.medians<kSide>(tile.height, tile.width, shift, [&](int y, int x, uint8_t value) {
      *output.at(tile.top + y, int64_t{tile.left} + x) = value;
    });
  }
};

// Blocks of a multiprocessor. With 5, uint16 would spill a register on compute capability 9.0.
template <class T>
constexpr int kBlocks = std::is_integral_v<T> ? 4 : 5;

// A block owns a tile of a plane, at most 128 x 128 values, and reads its pixels once, with
// margins. At most 48 KiB of shared memory; a window that does not fit is read from the image.
template <class T>
__global__ void __launch_bounds__(kTileThreads, kBlocks<T>)
    median_kernel(const Median<T> op, const Tiling tiling, const int64_t shared_bytes) {
  for_each_tile(op.source, tiling, [&](const Tile& tile) {
    const Window window = op.window(tile.n);
    const Window within{at_most(window.height, 4096), at_most(window.width, 4096)};
    if (MedianTileShape<T>(within, tiling, tile.height).bytes() > shared_bytes) {
      for (int y = threadIdx.x / kWarp; y < tile.height; y += kWarps) {
        for (int x = threadIdx.x % kWarp; x < tile.width; x += kWarp) {
          op(tile.n, tile.top + y, (tile.left + x) / tiling.group,
             tile.channel + (tile.left + x) % tiling.group);
        }
      }
      return;
    }
    MedianTile<T> step(op, tile, tiling, window);
    step.load();
    if (step.is_by_strips()) {
      if constexpr (MedianTileShape<T>::kIsBytes) {
        window.width == 3 ? step.template by_strips<3>() : step.template by_strips<5>();
      }
    } else if (window.height == 3 && window.width == 3) {
      step.template by_sorting<3>();
    } else if (window.height == 5 && window.width == 5) {
      step.template by_sorting<5>();
    } else if (step.shape.planes > 0) {
      if constexpr (MedianTileShape<T>::kIsBytes) {
        window.width == 7 ? step.template by_planes<7>() : step.template by_planes<9>();
      }
    } else {
      step.by_counting();
    }
    __syncthreads();
  });
}

}  // namespace

int median_blur_cuda(const MedianArguments& a, void* stream) {
  return dispatch_pixels<Median>(a, [&](const auto& op) {
    using T = typename std::decay_t<decltype(op)>::Value;
    using Shape = MedianTileShape<T>;
    const Window longest{at_most(a.longest, 4096), at_most(a.longest, 4096)};
    Tiling tiling{.group = a.longest <= 5 ? group_of(a.source, a.output) : 1,
                  .width = Shape::width(a.longest),
                  .height = 128};
    const auto bytes = [&] { return Shape(longest, tiling, tiling.height).bytes(); };
    while (tiling.height > 16 && bytes() > kMaxTileBytes) tiling.height /= 2;
    const int64_t shared_bytes = bytes() < kMaxTileBytes ? bytes() : kMaxTileBytes;
    return launch(median_kernel<T>, tile_blocks(a.source, tiling), dim3(kTileThreads),
                  static_cast<size_t>(shared_bytes), stream, op, tiling, shared_bytes);
  });
}

}  // namespace orbbec
