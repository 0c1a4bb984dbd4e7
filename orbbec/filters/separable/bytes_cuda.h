// The passes of gaussian_blur and box_blur over bytes on a CUDA device: the sums of a rule by
// dp4a, four products at once along a row, and dp2a, two along a column. Integer sums do not depend
// on their order. Included by separable_cuda.cu.
#pragma once

#include "../byte_rows_cuda.h"
#include "tile_shapes.h"

namespace orbbec {

// A tap of 256 does not fit a byte. It is the only one of its axis: the pass runs twice, with 128.
template <class Rule>
struct ByteTaps {
  Rule rule;
  Window window;
  int group;
  int runs[2];  // of each axis

  ORBBEC_HD ByteTaps(const Rule& rule, const Window& window, int group)
      : rule(rule), window(window), group(group) {
    for (int axis = 0; axis < 2; ++axis) {
      runs[axis] = rule.tap(axis, size(axis), size(axis) / 2) > 255 ? 2 : 1;
    }
  }
  ORBBEC_HD int size(int axis) const { return axis == 0 ? window.height : window.width; }
  ORBBEC_HD uint32_t byte(int axis, int i) const {
    if (i < 0 || i >= size(axis)) return 0;
    return static_cast<uint32_t>(rule.tap(axis, size(axis), i)) >> (runs[axis] - 1);
  }
  // The taps of 4 values for the output `shift` values behind them, from value 4 * word on.
  ORBBEC_HD uint32_t along_row(int word, int shift) const {
    uint32_t bytes = 0;
    for (int b = 0; b < 4; ++b) {
      const int distance = 4 * word + b - shift;
      const int i = group == 1 ? distance : distance / group;
      if (distance >= 0 && i * group == distance) bytes |= byte(1, i) << 8 * b;
    }
    return bytes;
  }
  // Of a pair of rows: two taps of the even output row, then two of the odd one.
  ORBBEC_HD uint32_t along_column(int pair) const {
    return byte(0, 2 * pair) | byte(0, 2 * pair + 1) << 8 | byte(0, 2 * pair - 1) << 16 |
           byte(0, 2 * pair) << 24;
  }
};

// body(count, first) for chunks of `all` numbers, the last of which is smaller; counts are known to
// the compiler.
template <int kMax, class Body>
__device__ void last_chunk(int all, int first, const Body& body) {
  if constexpr (kMax > 0) {
    if (all - first == kMax) return body(std::integral_constant<int, kMax>{}, first);
    last_chunk<kMax - 1>(all, first, body);
  }
}
template <int kMax, class Body>
__device__ void in_chunks(int all, const Body& body) {
  if (all < kMax) return last_chunk<kMax - 1>(all, 0, body);
  int first = 0;
  ORBBEC_ROLLED
  for (; first + kMax <= all; first += kMax) body(std::integral_constant<int, kMax>{}, first);
  last_chunk<kMax - 1>(all, first, body);
}

// A block's tile. Each step needs the barrier after the one before.
template <class Rule>
struct ByteTile {
  using Shape = ByteTileShape<Rule>;
  static constexpr int kWidth = Shape::kWidth, kWords = kWidth / 4;
  static constexpr int kRows = 4, kColumns = 8;              // of the row sums of a thread
  static constexpr int kOutputRows = 8, kOutputColumns = 4;  // of the outputs of a thread
  static constexpr int kPairs = kOutputRows / 2;
  static constexpr int kChunk = 4;    // words of taps between jumps
  static constexpr int kAligned = 2;  // of 2 to 5 neighboring values

  const Tile& tile;
  int64_t channel, channels;
  Plane<const uint8_t> source;
  Plane<uint8_t> output;
  Border border;
  ByteTaps<Rule> taps;
  Shape shape;
  ByteRows bytes;
  int first_word, row_taps;  // of the first window; words around 4 windows
  bool is_aligned;           // whether words are shifted to begin with a window
  uint4* taps_of_row;
  uint32_t* pixels;  // [rows][words]
  uint32_t* sums;    // [rows / 2][kWidth]: of two rows, 16 bits each
  int64_t* rows;     // offsets in the image, or -1
  int* columns;      // the same, of the bytes that no load reaches
  uint32_t* column_taps;

  __device__ ByteTile(const Tile& tile, int64_t channels, const Plane<const uint8_t>& source,
                      const Plane<uint8_t>& output, Border border, const ByteTaps<Rule>& taps)
      : tile(tile),
        channel(tile.channel),
        channels(channels),
        source(source),
        output(output),
        border(border),
        taps(taps),
        shape(taps.window, taps.group, tile.height),
        bytes(source, tile.left - taps.window.before() * taps.group) {
    first_word = bytes.shift / 4;
    row_taps = Shape::words_of(taps.window, taps.group, 0);
    is_aligned = row_taps == kAligned;
    if (!is_aligned) row_taps = Shape::words_of(taps.window, taps.group, bytes.shift & 3);
    const int last_column = (tile.width - 1) / kColumns * 2;
    bytes.need(first_word / 2 * 8,
               4 * rounded_up(first_word + last_column + row_taps + 1 + is_aligned, 2));
    taps_of_row = dynamic_shared<uint4>();
    pixels = reinterpret_cast<uint32_t*>(taps_of_row + shape.row_taps);
    sums = pixels + shape.rows * shape.words;
    rows = reinterpret_cast<int64_t*>(sums + shape.rows / 2 * kWidth);
    columns = reinterpret_cast<int*>(rows + shape.rows);
    column_taps = reinterpret_cast<uint32_t*>(columns + 4 * shape.words);
  }

  __device__ void prepare() const {
    find_rows(source, tile.top - taps.window.above(), shape.rows, border, rows);
    bytes.find_columns(border, columns);
    for (int i = threadIdx.x; i < 4 * row_taps; i += kTileThreads) {
      reinterpret_cast<uint32_t*>(taps_of_row)[i] =
          taps.along_row(i / 4, i % 4 + (is_aligned ? 0 : bytes.shift & 3));
    }
    for (int i = threadIdx.x; i < shape.column_taps; i += kTileThreads) {
      column_taps[i] = taps.along_column(i);
    }
  }

  __device__ void next_plane(int64_t source_step, int64_t output_step) {
    ++channel;
    bytes.plane.data += source_step;
    output.data += output_step;
  }

  __device__ void load() const {
    bytes.load(shape.rows, rows, columns, 4 * shape.words, reinterpret_cast<uint8_t*>(pixels));
  }

  __device__ static void add(uint32_t* sums, uint32_t bytes, const uint4& taps) {
    sums[0] = __dp4a(bytes, taps.x, sums[0]);
    sums[1] = __dp4a(bytes, taps.y, sums[1]);
    sums[2] = __dp4a(bytes, taps.z, sums[2]);
    sums[3] = __dp4a(bytes, taps.w, sums[3]);
  }

  // A thread sums 8 columns of 4 rows.
  __device__ void sum_rows() const {
    constexpr int kAcross = kWidth / kColumns;
    const int column = threadIdx.x % kAcross;
    if (column * kColumns >= tile.width) return;
    for (int y = threadIdx.x / kAcross * kRows; y < shape.rows;
         y += kTileThreads / kAcross * kRows) {
      uint32_t of_thread[kRows][kColumns] = {};
      const auto* const from =
          reinterpret_cast<const uint2*>(pixels + y * shape.words) + first_word / 2 + column;
      for (int run = 0; run < taps.runs[1]; ++run) {
        first_word % 2 == 0 ? sum_words<0>(from, of_thread) : sum_words<1>(from, of_thread);
      }
      auto* const to = reinterpret_cast<uint4*>(sums + y / 2 * kWidth) + 2 * column;
#pragma unroll
      for (int i = 0; i < kRows; i += 2) {
#pragma unroll
        for (int j = 0; j < kColumns; j += 4) {
          const auto pair = [&](int k) {
            return __byte_perm(of_thread[i][j + k], of_thread[i + 1][j + k], 0x5410);
          };
          to[i / 2 * kWords + j / 4] = make_uint4(pair(0), pair(1), pair(2), pair(3));
        }
      }
    }
  }

  // The first word is word kOdd of `from`.
  template <int kOdd>
  __device__ void sum_words(const uint2* from, uint32_t (&to)[kRows][kColumns]) const {
    if (is_aligned) return add_words<kAligned, kOdd, true>(from, taps_of_row, to);
    in_chunks<kChunk>(row_taps, [&](auto count, int first) {
      add_words<decltype(count)::value, kOdd, false>(from + first / 2, taps_of_row + first, to);
    });
  }

  // Adds the products of neighboring words of taps. kShifts: words are shifted first, so that they
  // begin with a window.
  template <int kCount, int kOdd, bool kShifts>
  __device__ void add_words(const uint2* from, const uint4* taps_from,
                            uint32_t (&to)[kRows][kColumns]) const {
    constexpr int kUsed = kCount + 1 + kShifts, kLoaded = (kOdd + kUsed + 1) / 2;
    uint4 factors[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) factors[k] = taps_from[k];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      uint32_t loaded[2 * kLoaded];
#pragma unroll
      for (int k = 0; k < kLoaded; ++k) {
        const uint2 two = from[i * (shape.words / 2) + k];
        loaded[2 * k] = two.x, loaded[2 * k + 1] = two.y;
      }
      uint32_t* const words = loaded + kOdd;
      if (kShifts) shift_bytes<kUsed - 1>(words, bytes.shift, words);
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        add(to[i], words[k], factors[k]), add(to[i] + 4, words[k + 1], factors[k]);
    }
  }

  // A thread owns 4 columns of 8 rows of the output.
  __device__ void sum_columns() const {
    const int x = threadIdx.x % kWords * kOutputColumns;
    if (x >= tile.width) return;
    for (int y = threadIdx.x / kWords * kOutputRows; y < tile.height;
         y += kTileThreads / kWords * kOutputRows) {
      uint32_t of_thread[kOutputRows][kOutputColumns];
#pragma unroll
      for (int i = 0; i < kOutputRows * kOutputColumns; ++i) {
        of_thread[i / kOutputColumns][i % kOutputColumns] = taps.rule.addend();
      }
      const auto* const from = reinterpret_cast<const uint4*>(sums + y / 2 * kWidth + x);
      for (int run = 0; run < taps.runs[0]; ++run) {
        in_chunks<kChunk>(shape.column_taps, [&](auto count, int first) {
          add_pairs<decltype(count)::value>(from + first * kWords, column_taps + first, of_thread);
        });
      }
      store(y, x, of_thread);
    }
  }

  __device__ static void add_pair(const uint4& pair, uint32_t both, int i,
                                  uint32_t (&to)[kOutputRows][kOutputColumns]) {
    const uint32_t of_pair[] = {pair.x, pair.y, pair.z, pair.w};
#pragma unroll
    for (int c = 0; c < kOutputColumns; ++c) {
      to[2 * i][c] = __dp2a_lo(of_pair[c], both, to[2 * i][c]);
      to[2 * i + 1][c] = __dp2a_hi(of_pair[c], both, to[2 * i + 1][c]);
    }
  }

  // Adds the products of neighboring pairs of taps.
  template <int kCount>
  __device__ void add_pairs(const uint4* from, const uint32_t* taps_from,
                            uint32_t (&to)[kOutputRows][kOutputColumns]) const {
    uint32_t factors[kCount];
#pragma unroll
    for (int tap = 0; tap < kCount; ++tap) factors[tap] = taps_from[tap];
#pragma unroll
    for (int row = 0; row < kPairs + kCount - 1; ++row) {
      const uint4 pair = from[row * kWords];
#pragma unroll
      for (int tap = 0; tap < kCount; ++tap) {
        const int i = row - tap;
        if (i >= 0 && i < kPairs) add_pair(pair, factors[tap], i, to);
      }
    }
  }

  // `sums` have the addend.
  __device__ void store(int y, int x, const uint32_t (&sums)[kOutputRows][kOutputColumns]) const {
    const int64_t value = int64_t{tile.left} + x;
    // Of a row that counts channels.
    const int64_t step = output.group > 1 ? 1 : channels, index = value * step + channel;
    uint8_t* const to = output.at(tile.top + y, value);
    const bool is_whole = y + kOutputRows <= tile.height && x + kOutputColumns <= tile.width;
    const bool is_aligned = ((reinterpret_cast<uintptr_t>(to) | output.stride_y) & 3) == 0;
    if (is_whole && is_aligned && taps.rule.is_common(index + (kOutputColumns - 1) * step + 1)) {
      return store_words(sums, to);
    }
#pragma unroll
    for (int i = 0; i < kOutputRows; ++i) {
#pragma unroll
      for (int c = 0; c < kOutputColumns; ++c) {
        if (y + i >= tile.height || x + c >= tile.width) continue;
        to[i * output.stride_y + c] =
            taps.rule.finish(sums[i][c] - taps.rule.addend(), index + c * step);
      }
    }
  }

  __device__ void store_words(const uint32_t (&sums)[kOutputRows][kOutputColumns],
                              uint8_t* to) const {
#pragma unroll
    for (int i = 0; i < kOutputRows; ++i, to += output.stride_y) {
      const auto scaled = [&](int c) { return taps.rule.scaled(sums[i][c]); };
      *reinterpret_cast<uint32_t*>(to) =
          pack_bytes<Rule::kByte>(scaled(0), scaled(1), scaled(2), scaled(3));
    }
  }
};

// A block owns a tile of at most 128 x 64 values and reads its pixels once, with margins, as words.
// At most 48 KiB of shared memory.
template <class Rule>
__global__ void __launch_bounds__(kTileThreads, 4)
    separable_bytes_kernel(const Separable<Rule> op, const Tiling tiling) {
  for_each_tile(op.source, tiling, [&](const Tile& tile) {
    const Image<const uint8_t> image = op.source[tile.n];
    const Image<uint8_t> output = op.output[tile.n];
    const Window window = op.window(tile.n, image.height, image.width);
    const Rule rule(op.arguments, tile.n, window, op.source.channels * image.width);
    ByteTile<Rule> step(tile, op.source.channels, plane_of(image, tile.channel, tiling.group),
                        plane_of(output, tile.channel, tiling.group), op.arguments.border,
                        ByteTaps<Rule>(rule, window, tiling.group));
    step.prepare();
    for (int plane = 0; plane < tile.planes; ++plane) {
      __syncthreads();
      step.load();
      __syncthreads();
      step.sum_rows();
      __syncthreads();
      step.sum_columns();
      step.next_plane(image.stride_c, output.stride_c);
    }
    __syncthreads();
  });
}

}  // namespace orbbec
