// CLAHE on a CUDA device, in two kernels. In the first, a warp makes the LUTs of a tile. In the
// second, a block blends a row of cells, a thread two words of each of its rows.
#include "../../executors/cuda/bytes.h"
#include "../../executors/cuda/ragged.h"
#include "clahe.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kLevelsOfLane = kLevels / kWarp;
constexpr int kMaxGroup = 4;  // channels that lie together
constexpr int kWord = 4;      // bytes

// Rounded like rint, for values from 0 to 255: the lowest byte of its bits.
__device__ uint32_t rounded_bits(float value) { return bits_of(value + 0x1p23f); }

// The tile of `kGroup` channels that a warp makes the LUTs of. A lane owns 8 neighboring levels.
template <int kGroup>
struct WarpTile {
  const ClaheLuts& op;
  const Image<const uint8_t>& image;
  Tiles size;
  int* histograms;  // of the warp, in shared memory
  int lane;

  // The LUT of channel c is `luts + c * stride`.
  __device__ void make(int64_t channel, int tile, int most, uint8_t* luts, int64_t stride) const {
    auto* const four = reinterpret_cast<int4*>(histograms);
#pragma unroll
    for (int i = 0; i < kGroup * kLevels / 4; i += kWarp) four[i + lane] = make_int4(0, 0, 0, 0);
    __syncwarp();
    count(channel, tile);
    __syncwarp();
    const float scale = ClaheLuts::scale_of(size.height * size.width);
    ORBBEC_ROLLED
    for (int c = 0; c < kGroup; ++c) {
      const int4 low = four[(c * kWarp + lane) * 2], high = four[(c * kWarp + lane) * 2 + 1];
      int levels[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      clip(levels, most);
      write(levels, scale, luts + c * stride);
    }
  }

 private:
  // Neighboring lanes take neighboring units of a row.
  struct Walk {
    int units, down, right, y, x;

    __device__ Walk(int lane, int units) : units(units) {
      y = lane / units, x = lane - y * units;
      down = kWarp / units, right = kWarp - down * units;
    }
    __device__ void advance() {
      y += down;
      x += right;
      if (x >= units) x -= units, ++y;
    }
  };

  __device__ void add(uint32_t level, int c) const {
    atomicAdd(&histograms[c * kLevels + level], 1);
  }

  // A tile that the image contains needs no reflection.
  __device__ void count(int64_t channel, int tile) const {
    const int tile_y = tile / op.tiles_x;
    const int top = tile_y * size.height, left = (tile - tile_y * op.tiles_x) * size.width;
    if (top + size.height > image.height || left + size.width > image.width) {
      count_pixels([&](int y, int x) {
        return &image.at(ClaheLuts::reflected(top + y, image.height),
                         ClaheLuts::reflected(left + x, image.width), channel);
      });
      return;
    }
    const uint8_t* const first = &image.at(top, left, channel);
    const auto alignment = reinterpret_cast<uintptr_t>(first) | image.stride_y | size.width;
    if (image.stride_x == kGroup && alignment % kWord == 0) {
      count_words(first);
    } else {
      count_pixels([&](int y, int x) { return first + (y * image.stride_y + x * image.stride_x); });
    }
  }

  // A unit is a word of each channel.
  __device__ void count_words(const uint8_t* first) const {
    Walk walk(lane, size.width / kWord);
    const auto load = [&](uint32_t (&words)[kGroup]) {
      const uint8_t* const from = first + walk.y * image.stride_y + walk.x * kWord * kGroup;
#pragma unroll
      for (int k = 0; k < kGroup; ++k) words[k] = reinterpret_cast<const uint32_t*>(from)[k];
    };
    uint32_t words[kGroup], next[kGroup];
    int left = size.height * walk.units - lane;
    if (left > 0) load(next);
    for (; left > 0; left -= kWarp) {
#pragma unroll
      for (int k = 0; k < kGroup; ++k) words[k] = next[k];
      walk.advance();
      if (left > kWarp) load(next);
#pragma unroll
      for (int i = 0; i < kWord * kGroup; ++i) {
        add(byte_of(words[i / kWord], i % kWord), i % kGroup);
      }
    }
  }

  // A unit is a pixel.
  template <class Address>
  __device__ void count_pixels(const Address& address) const {
    constexpr int kLoads = 8 / kGroup;  // pixels at once, in no branch
    Walk walk(lane, size.width);
    int left = size.height * size.width - lane;
    for (; left > (kLoads - 1) * kWarp; left -= kLoads * kWarp) {
      int levels[kLoads][kGroup];
#pragma unroll
      for (int i = 0; i < kLoads; ++i, walk.advance()) {
        const uint8_t* const pixel = address(walk.y, walk.x);
#pragma unroll
        for (int c = 0; c < kGroup; ++c) levels[i][c] = pixel[c];
      }
#pragma unroll
      for (int i = 0; i < kLoads * kGroup; ++i) add(levels[i / kGroup][i % kGroup], i % kGroup);
    }
    for (; left > 0; left -= kWarp, walk.advance()) {
      const uint8_t* const pixel = address(walk.y, walk.x);
#pragma unroll
      for (int c = 0; c < kGroup; ++c) add(pixel[c], c);
    }
  }

  // As ClaheLuts::clip.
  __device__ void clip(int (&levels)[kLevelsOfLane], int most) const {
    if (most == 0) return;
    int over = 0;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      over += larger(levels[i] - most, 0);
      levels[i] = smaller(levels[i], most);
    }
    const ClaheLuts::Excess excess(warp_sum(over));
    const int first = lane * kLevelsOfLane, end = excess.rest * excess.step;
    // A multiple of the step, from here on.
    int next = (first + excess.step - 1) / excess.step * excess.step;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      levels[i] += excess.each;
      if (first + i != next || next >= end) continue;
      ++levels[i];
      next += excess.step;
    }
  }

  __device__ void write(const int (&levels)[kLevelsOfLane], float scale, uint8_t* lut) const {
    int count = 0;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) count += levels[i];
    int sum = warp_exclusive_sum(count);
    uint32_t words[kLevelsOfLane / kWord];
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; i += kWord) {
      uint32_t bytes[kWord];
#pragma unroll
      for (int k = 0; k < kWord; ++k) {
        sum += levels[i + k];
        bytes[k] = rounded_bits(ClaheLuts::level_of(sum, scale));
      }
      words[i / kWord] = pack_bytes(bytes[0], bytes[1], bytes[2], bytes[3]);
    }
    reinterpret_cast<uint2*>(lut)[lane] = make_uint2(words[0], words[1]);
  }
};

// A warp owns a tile of `kGroup` channels that lie together, and 1 KiB of shared memory for each.
template <int kGroup>
__global__ void __launch_bounds__(kThreads, 4) clahe_luts_kernel(const ClaheLuts op) {
  int* const histograms = dynamic_shared<int>();
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int tiles = op.tiles_y * op.tiles_x, tile = static_cast<int>(blockIdx.x) * kWarps + warp;
  if (tile >= tiles) return;
  for (int64_t n = blockIdx.z; n < op.source.count; n += gridDim.z) {
    const Image<const uint8_t> image = op.source[n];
    if (image.height < 1 || image.width < 1) continue;
    const Tiles size(image, op.tiles_y, op.tiles_x);
    const int most = ClaheLuts::most_of(size.height * size.width, op.clip_limit.of(n));
    const WarpTile<kGroup> of_warp{op, image, size, histograms + warp * kGroup * kLevels, lane};
    for (int64_t c = int64_t{blockIdx.y} * kGroup; c < op.source.channels;
         c += int64_t{gridDim.y} * kGroup) {
      const int64_t first = (n * op.source.channels + c) * tiles + tile;
      of_warp.make(c, tile, most, op.luts + first * kLevels, int64_t{tiles} * kLevels);
      __syncwarp();
    }
  }
}

// Cells lie between tile centers. All pixels of a cell blend the same four LUTs, whose bytes for a
// level lie in one word of shared memory.
constexpr int kMaxTables = 32;  // cells by channels: 32 KiB
constexpr int kMaxRows = 64;    // at once

// Some cells of the row of cells, and some of their rows of pixels.
struct Cells {
  int first, count, top, rows;
};

// A row of cells of an image, in shared memory. Values count the channels of a row if they lie
// together: `group` of them per pixel.
struct CellRow {
  using RowWeights = ClaheBlend::Weights<>;

  Image<const uint8_t> from;
  Image<uint8_t> to;
  Tiles size;
  int tiles_y, tiles_x, group, index;
  const uint8_t* luts;                                // [group][tiles_y][tiles_x][256]
  alignas(16) uint32_t tables[kMaxTables * kLevels];  // [cells][group][256]
  RowWeights down[kMaxRows];                          // negative: not of this row of cells

  __device__ void weigh_rows(const Cells& cells) {
    for (int i = threadIdx.x; i < cells.rows; i += kThreads) {
      const auto between = ClaheBlend::between(cells.top + i, size.height, tiles_y);
      down[i] = between.cell == index ? between.weight : -1.0f;
    }
  }

  // A thread makes the words of four levels of a channel, cell by cell.
  __device__ void make_tables(const Cells& cells) {
    constexpr int kFours = kLevels / 4;
    const int upper = larger(index - 1, 0), lower = smaller(index, tiles_y - 1);
    const int last = tiles_x - 1, together = group * kFours;
    for (int i = threadIdx.x; i < together; i += kThreads) {
      const auto* const first = reinterpret_cast<const uint32_t*>(luts) + i % kFours +
                                int64_t{i / kFours} * tiles_y * tiles_x * kFours;
      const auto* const above = first + upper * tiles_x * kFours;
      const auto* const below = first + lower * tiles_x * kFours;
      auto* to = reinterpret_cast<uint4*>(tables) + i;
      // For two levels each, the bytes of the upper and of the lower tile.
      const auto pairs = [&](int x) {
        const int offset = clamp_int(x, 0, last) * kFours;
        const uint32_t a = __ldg(above + offset), b = __ldg(below + offset);
        return make_uint2(__byte_perm(a, b, 0x5140), __byte_perm(a, b, 0x7362));
      };
      uint2 left = pairs(cells.first - 1);
#pragma unroll 4
      for (int x = cells.first; x < cells.first + cells.count; ++x, to += together) {
        const uint2 right = pairs(x);
        *to =
            make_uint4(__byte_perm(left.x, right.x, 0x5410), __byte_perm(left.x, right.x, 0x7632),
                       __byte_perm(left.y, right.y, 0x5410), __byte_perm(left.y, right.y, 0x7632));
        left = right;
      }
    }
  }

  // The first pixel that may belong to a cell, and one after the last.
  __device__ static int begin_of(int cell, int tile) {
    return larger((cell - 1) * tile + tile / 2 - 1, 0);
  }
  __device__ static int end_of(int cell, int tile) { return begin_of(cell + 1, tile) + 3; }

  // A thread owns two words of every row or of every few rows. Neighboring threads own neighboring
  // words.
  __device__ void blend(const Cells& cells) const {
    const int values = from.width * group;
    const int first = begin_of(cells.first, size.width) * group & -kWord;
    const int end = smaller(values, end_of(cells.first + cells.count - 1, size.width) * group);
    if (end <= first) return;
    const int units = (end - first + 2 * kWord - 1) / (2 * kWord);
    const int together = smaller(units, kThreads), at_once = kThreads / together;
    const int row = static_cast<int>(threadIdx.x) / together;
    if (row >= at_once) return;
    for (int unit = static_cast<int>(threadIdx.x) - row * together; unit < units;
         unit += kThreads) {
      const Column left(*this, cells, first + unit * kWord);
      const Column right(*this, cells, first + (unit + units) * kWord);
      if (left.is_word && right.is_word) {
        blend_words(cells, left, right, units, row, at_once);
        continue;
      }
      left.blend_values(cells, row, at_once);
      right.blend_values(cells, row, at_once);
    }
  }

  // `distance`: from the left word to the right one, in words.
  template <class Column>
  __device__ void blend_words(const Cells& cells, const Column& left, const Column& right,
                              int distance, int row, int step) const {
    const uint8_t* in = &from.at(cells.top + row, left.x, left.c);
    uint8_t* out = &to.at(cells.top + row, left.x, left.c);
    const int64_t in_step = step * from.stride_y, out_step = step * to.stride_y;
    const RowWeights* weights = down + row;
    const RowWeights* const end = down + cells.rows;
    for (; weights < end; weights += step, in += in_step, out += out_step) {
      const RowWeights row_weights = *weights;
      if (row_weights.after < 0) continue;
      const auto* const levels = reinterpret_cast<const uint32_t*>(in);
      const uint32_t left_levels = levels[0], right_levels = levels[distance];
      auto* const words = reinterpret_cast<uint32_t*>(out);
      words[0] = left.blended(left_levels, row_weights);
      words[distance] = right.blended(right_levels, row_weights);
    }
  }

  // The values of a word: what they have in common in all rows.
  struct Column {
    const CellRow& row;
    int x, c;       // of the first value
    unsigned here;  // bit i: value i belongs to these cells
    bool is_word;
    const char* table[kWord];
    ClaheBlend::Weights<BiasedFactor> across[kWord];

    __device__ Column(const CellRow& row, const Cells& cells, int first) : row(row), here(0) {
      x = first / row.group;
      c = first - x * row.group;
      int at = x, channel = c;
#pragma unroll
      for (int i = 0; i < kWord; ++i) {
        const auto between = ClaheBlend::between(at, row.size.width, row.tiles_x);
        const int cell = between.cell - cells.first;
        if (at < row.from.width && cell >= 0 && cell < cells.count) here |= 1u << i;
        across[i] = between.weight;
        table[i] = reinterpret_cast<const char*>(row.tables) +
                   (cell * row.group + channel) * (kLevels * kWord);
        if (++channel == row.group) channel = 0, ++at;
      }
      const auto is_aligned = [&](const auto& image) {
        const auto address = reinterpret_cast<uintptr_t>(&image.at(0, x, c));
        return (row.group > 1 || image.stride_x == 1) && (address | image.stride_y) % kWord == 0;
      };
      is_word = here == 15 && is_aligned(row.from) && is_aligned(row.to);
    }

    // The lowest byte.
    __device__ uint32_t blended(int i, uint32_t level, const RowWeights& down) const {
      const uint32_t bytes = *reinterpret_cast<const uint32_t*>(table[i] + level * kWord);
      const BiasedByte corners[] = {{bytes, 0}, {bytes, 2}, {bytes, 1}, {bytes, 3}};
      return rounded_bits(ClaheBlend::blended(corners, across[i], down));
    }

    __device__ uint32_t blended(uint32_t levels, const RowWeights& down) const {
      uint32_t bytes[kWord];
#pragma unroll
      for (int i = 0; i < kWord; ++i) bytes[i] = blended(i, byte_of(levels, i), down);
      return pack_bytes(bytes[0], bytes[1], bytes[2], bytes[3]);
    }

    __device__ void blend_values(const Cells& cells, int first, int step) const {
      for (int i = first; i < cells.rows; i += step) {
        const RowWeights down = row.down[i];
        if (down.after < 0) continue;
        int at = x, channel = c;
#pragma unroll
        for (int k = 0; k < kWord; ++k) {
          if (here >> k & 1) {
            const uint8_t level = row.from.at(cells.top + i, at, channel);
            row.to.at(cells.top + i, at, channel) = static_cast<uint8_t>(blended(k, level, down));
          }
          if (++channel == row.group) channel = 0, ++at;
        }
      }
    }
  };
};

__device__ void blend_cells(CellRow& row) {
  const int tile = row.size.height, first = CellRow::begin_of(row.index, tile);
  const int bottom = smaller(row.from.height, CellRow::end_of(row.index, tile));
  Cells cells{};
  for (; cells.first <= row.tiles_x; cells.first += cells.count) {
    cells.count = smaller(kMaxTables / row.group, row.tiles_x + 1 - cells.first);
    row.make_tables(cells);
    for (cells.top = first; cells.top < bottom; cells.top += kMaxRows) {
      cells.rows = smaller(kMaxRows, bottom - cells.top);
      row.weigh_rows(cells);
      __syncthreads();
      row.blend(cells);
      __syncthreads();
    }
  }
}

// A block owns a row of cells of an image, of all channels if they lie together, and makes the
// tables of up to 32 cells at a time. 33 KiB of shared memory; a pixel is read once.
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, 64))
    clahe_blend_kernel(const ClaheBlend op, int group) {
  __shared__ __align__(16) char memory[sizeof(CellRow)];
  auto& row = *reinterpret_cast<CellRow*>(memory);
  for (int64_t n = blockIdx.z; n < op.source.count; n += gridDim.z) {
    for (int64_t c = int64_t{blockIdx.y} * group; c < op.source.channels;
         c += int64_t{gridDim.y} * group) {
      if (threadIdx.x == 0) {
        const Image<const uint8_t> from = op.source[n];
        const Image<uint8_t> to = op.output[n];
        row.from = from, row.to = to;
        row.from.data += c * from.stride_c, row.to.data += c * to.stride_c;
        row.size = Tiles(from, op.tiles_y, op.tiles_x);
        row.tiles_y = op.tiles_y, row.tiles_x = op.tiles_x;
        row.group = group, row.index = static_cast<int>(blockIdx.x);
        row.luts = op.luts + (n * op.source.channels + c) * op.tiles_y * op.tiles_x * kLevels;
      }
      __syncthreads();
      if (row.from.height > 0 && row.from.width > 0) blend_cells(row);
      __syncthreads();
    }
  }
}

// Rows of values are counted in int.
int group_of(const AnyImages& source, const AnyImages& output) {
  const auto lie_together = [](const AnyImages& images) {
    return images.stride_c == 1 && images.stride_x == images.channels;
  };
  const int64_t row = source.layout == nullptr ? source.width * source.channels : source.numel;
  const bool fits = source.channels <= kMaxGroup && row <= (1 << 30);
  return fits && lie_together(source) && lie_together(output) ? static_cast<int>(source.channels)
                                                              : 1;
}

}  // namespace

int clahe_cuda(const ClaheArguments& a, void* stream) {
  const int group = group_of(a.source, a.output);
  dim3 grid(static_cast<unsigned>((a.tiles_y * a.tiles_x + kWarps - 1) / kWarps),
            grid_blocks(a.source.channels / group), grid_blocks(a.source.count));
  void (*const kernels[])(ClaheLuts) = {clahe_luts_kernel<1>, clahe_luts_kernel<2>,
                                        clahe_luts_kernel<3>, clahe_luts_kernel<4>};
  const size_t shared = sizeof(int) * kWarps * group * kLevels;
  const int status = launch(kernels[group - 1], grid, dim3(kThreads), shared, stream, ClaheLuts(a));
  if (status != 0) return status;
  grid.x = static_cast<unsigned>(a.tiles_y + 1);
  return launch(clahe_blend_kernel, grid, dim3(kThreads), 0, stream, ClaheBlend(a), group);
}

}  // namespace orbbec
