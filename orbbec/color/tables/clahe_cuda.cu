#include <algorithm>

#include "../../executors/ragged_cuda.h"
#include "clahe.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kLevelsOfLane = kLevels / kWarp;
constexpr int64_t kMostBlocks = 1 << 20;

// The tile of a channel that a warp makes the LUT of. A lane owns 8 neighboring levels.
struct WarpTile {
  const ClaheLuts& op;
  int* histogram;  // of the warp, in shared memory
  int lane;

  __device__ void make(int64_t n, int64_t c, int tile) const {
    const Image<const uint8_t> image = op.source[n];
    if (image.height < 1 || image.width < 1) return;
    const Tiles size(image, op.tiles_y, op.tiles_x);
    const int area = size.height * size.width;
    for (int i = 0; i < kLevelsOfLane; ++i) histogram[lane + i * kWarp] = 0;
    __syncwarp();
    count(image, c, tile, size);
    __syncwarp();
    int levels[kLevelsOfLane];
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) levels[i] = histogram[lane * kLevelsOfLane + i];
    clip(levels, ClaheLuts::most_of(area, op.clip_limit.of(n)));
    const int64_t job = n * op.source.channels + c;
    write(levels, ClaheLuts::scale_of(area),
          op.luts + (job * op.tiles_y * op.tiles_x + tile) * kLevels);
  }

  // Lanes take neighboring pixels. A tile that the image contains needs no reflection.
  __device__ void count(const Image<const uint8_t>& image, int64_t c, int tile,
                        const Tiles& size) const {
    const int tile_y = tile / op.tiles_x;
    const int top = tile_y * size.height, left = (tile - tile_y * op.tiles_x) * size.width;
    if (top + size.height <= image.height && left + size.width <= image.width) {
      const uint8_t* const first = &image.at(top, left, c);
      count(size, [&](int y, int x) { return first[y * image.stride_y + x * image.stride_x]; });
    } else {
      count(size, [&](int y, int x) {
        return image.at(ClaheLuts::reflected(top + y, image.height),
                        ClaheLuts::reflected(left + x, image.width), c);
      });
    }
  }

  template <class Level>
  __device__ void count(const Tiles& size, const Level& level) const {
    const int down = kWarp / size.width, right = kWarp % size.width;
    int y = lane / size.width, x = lane % size.width, left = size.height * size.width - lane;
    const auto next = [&] {
      const int found = level(y, x);
      y += down;
      x += right;
      if (x >= size.width) x -= size.width, ++y;
      return found;
    };
    constexpr int kLoads = 8;  // at once, in no branch
    for (; left > (kLoads - 1) * kWarp; left -= kLoads * kWarp) {
      int levels[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) levels[i] = next();
#pragma unroll
      for (int i = 0; i < kLoads; ++i) atomicAdd(&histogram[levels[i]], 1);
    }
    for (; left > 0; left -= kWarp) atomicAdd(&histogram[next()], 1);
  }

  __device__ static int sum_of_warp(int value) {
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) value += __shfl_xor_sync(kAllLanes, value, step);
    return value;
  }

  // As ClaheLuts::clip.
  __device__ void clip(int (&levels)[kLevelsOfLane], int most) const {
    if (most == 0) return;
    int over = 0;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      if (levels[i] <= most) continue;
      over += levels[i] - most;
      levels[i] = most;
    }
    const ClaheLuts::Excess excess(sum_of_warp(over));
    const int first = lane * kLevelsOfLane;
    int multiple = (first + excess.step - 1) / excess.step;  // of the step, from here on
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      levels[i] += excess.each;
      if (first + i != multiple * excess.step) continue;
      levels[i] += multiple < excess.rest ? 1 : 0;
      ++multiple;
    }
  }

  __device__ void write(const int (&levels)[kLevelsOfLane], float scale, uint8_t* lut) const {
    int own = 0;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) own += levels[i];
    int sum = own;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const int before = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += before;
    }
    sum -= own;
    uint32_t words[2] = {};
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      sum += levels[i];
      words[i / 4] |= static_cast<uint32_t>(ClaheLuts::level_of(sum, scale)) << 8 * (i % 4);
    }
    reinterpret_cast<uint2*>(lut)[lane] = make_uint2(words[0], words[1]);
  }
};

// A warp owns a tile of a channel; the channels of a tile are neighbors. 8 KiB of shared memory.
__global__ void __launch_bounds__(kThreads, 1) clahe_luts_kernel(const ClaheLuts op) {
  __shared__ __align__(16) int histograms[kWarps][kLevels];
  const int warp = threadIdx.x / kWarp;
  const WarpTile of_warp{op, histograms[warp], static_cast<int>(threadIdx.x % kWarp)};
  const int64_t tiles = int64_t{op.tiles_y} * op.tiles_x, channels = op.source.channels;
  const int64_t items = op.source.count * channels * tiles;
  for (int64_t item = int64_t{blockIdx.x} * kWarps + warp; item < items;
       item += int64_t{gridDim.x} * kWarps) {
    const int64_t n = item / (tiles * channels), rest = item - n * tiles * channels;
    const int64_t tile = rest / channels;
    of_warp.make(n, rest - tile * channels, static_cast<int>(tile));
    __syncwarp();
  }
}

// Cells lie between tile centers. All pixels of a cell blend the same four LUTs, whose bytes for a
// level lie in one word of shared memory.
constexpr int kMostTables = 32;  // cells by channels: 32 KiB
constexpr int kValues = 4;       // neighboring ones of a thread

// The pixels of some cells of a row of cells. Values count the channels of a row if they lie
// together: `group` of them per pixel.
struct CellRow {
  const ClaheBlend& op;
  Image<const uint8_t> from;
  Image<uint8_t> to;
  Tiles size;
  int64_t n, channel;
  int group, cell_y, cell_x, cells;
  uint32_t* tables;  // [cells][group][256]

  // A thread makes the words of four levels.
  __device__ void make_tables() const {
    const int upper = cell_y > 0 ? cell_y - 1 : 0;
    const int lower = cell_y < op.tiles_y ? cell_y : op.tiles_y - 1;
    for (int i = threadIdx.x; i < cells * group * (kLevels / 4); i += kThreads) {
      const int table = i / (kLevels / 4), cell = table / group, x = cell_x + cell;
      const int left = x > 0 ? x - 1 : 0, right = x < op.tiles_x ? x : op.tiles_x - 1;
      const int64_t job = n * op.source.channels + channel + (table - cell * group);
      const auto four = [&](int tile_y, int tile_x) {
        const int64_t tile = (job * op.tiles_y + tile_y) * op.tiles_x + tile_x;
        return reinterpret_cast<const uint32_t*>(op.luts + tile * kLevels)[i % (kLevels / 4)];
      };
      const uint32_t a = four(upper, left), b = four(upper, right);
      const uint32_t c = four(lower, left), d = four(lower, right);
      // Transposed: from four levels of a tile to four tiles of a level.
      const uint32_t ab = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
      const uint32_t cd = __byte_perm(c, d, 0x5140), cd_high = __byte_perm(c, d, 0x7362);
      reinterpret_cast<uint4*>(tables)[i] =
          make_uint4(__byte_perm(ab, cd, 0x5410), __byte_perm(ab, cd, 0x7632),
                     __byte_perm(ab_high, cd_high, 0x5410), __byte_perm(ab_high, cd_high, 0x7632));
    }
  }

  // The first pixel that may belong to a cell.
  __device__ static int begin_of(int cell, int tile) {
    const int begin = (cell - 1) * tile + tile / 2 - 1;
    return begin > 0 ? begin : 0;
  }

  // A thread owns four neighboring values of every row or of every few rows.
  __device__ void blend() const {
    const int values = from.width * group;
    const int first = begin_of(cell_x, size.width) * group & -kValues;
    const int end = smaller(values, (begin_of(cell_x + cells, size.width) + 3) * group);
    const int units = (end - first + kValues - 1) / kValues;
    const int together = smaller(units, kThreads), at_once = kThreads / together;
    const int row = static_cast<int>(threadIdx.x) / together;
    if (row >= at_once) return;
    const int bottom = smaller(from.height, begin_of(cell_y + 1, size.height) + 3);
    for (int unit = static_cast<int>(threadIdx.x) - row * together; unit < units;
         unit += kThreads) {
      const Column column(*this, first + unit * kValues, values);
      for (int y = begin_of(cell_y, size.height) + row; y < bottom; y += at_once) {
        const auto rows = ClaheBlend::between(y, size.height, op.tiles_y);
        if (rows.cell == cell_y) column.blend(y, rows.weight);
      }
    }
  }

  // Four values of a row: what they have in common in all rows.
  struct Column {
    const CellRow& row;
    int first, x[kValues], channel[kValues];
    const uint32_t* table[kValues];  // null: not of these cells
    float weight[kValues];
    bool is_word;

    __device__ Column(const CellRow& row, int first, int values) : row(row), first(first) {
      is_word = true;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        x[i] = (first + i) / row.group;
        channel[i] = first + i - x[i] * row.group;
        const auto columns = ClaheBlend::between(x[i], row.size.width, row.op.tiles_x);
        const int cell = columns.cell - row.cell_x;
        const bool is_here = first + i < values && cell >= 0 && cell < row.cells;
        weight[i] = columns.weight;
        table[i] = is_here ? row.tables + (cell * row.group + channel[i]) * kLevels : nullptr;
        is_word = is_word && is_here;
      }
      const auto is_aligned = [&](const auto& image) {
        const auto address = reinterpret_cast<uintptr_t>(image.data + row.channel * image.stride_c);
        return (row.group > 1 || image.stride_x == 1) && ((address | image.stride_y) & 3) == 0;
      };
      is_word = is_word && is_aligned(row.from) && is_aligned(row.to);
    }

    __device__ uint8_t blended(int i, uint32_t level, float down) const {
      const uint32_t bytes = table[i][level];
      float corners[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        // Exact, and four times as fast as a conversion: the lowest byte of 2^23 + byte.
        corners[k] = float_of(__byte_perm(bytes, 0x4b000000u, 0x7550 + k)) - 0x1p23f;
      }
      return ClaheBlend::blended(corners, weight[i], down);
    }

    __device__ void blend(int y, float down) const {
      if (is_word) {
        const uint32_t levels =
            *reinterpret_cast<const uint32_t*>(&row.from.at(y, x[0], row.channel + channel[0]));
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
          word |= static_cast<uint32_t>(blended(i, levels >> 8 * i & 0xff, down)) << 8 * i;
        }
        *reinterpret_cast<uint32_t*>(&row.to.at(y, x[0], row.channel + channel[0])) = word;
        return;
      }
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        if (table[i] == nullptr) continue;
        const int64_t c = row.channel + channel[i];
        row.to.at(y, x[i], c) = blended(i, row.from.at(y, x[i], c), down);
      }
    }
  };
};

// A block owns a row of cells of an image, of all channels if they lie together, and makes the
// tables of up to 32 cells at a time. 32 KiB of shared memory; a pixel is read once.
__global__ void __launch_bounds__(kThreads, 2) clahe_blend_kernel(const ClaheBlend op, int group) {
  __shared__ __align__(16) uint32_t tables[kMostTables * kLevels];
  for (int64_t n = blockIdx.z; n < op.source.count; n += gridDim.z) {
    const Image<const uint8_t> from = op.source[n];
    if (from.height < 1 || from.width < 1) continue;
    const Tiles size(from, op.tiles_y, op.tiles_x);
    for (int64_t channel = int64_t{blockIdx.y} * group; channel < op.source.channels;
         channel += int64_t{gridDim.y} * group) {
      CellRow row{op, from, op.output[n], size, n, channel, group, 0, 0, 0, tables};
      row.cell_y = static_cast<int>(blockIdx.x);
      for (; row.cell_x <= op.tiles_x; row.cell_x += row.cells) {
        row.cells = smaller(kMostTables / group, op.tiles_x + 1 - row.cell_x);
        row.make_tables();
        __syncthreads();
        row.blend();
        __syncthreads();
      }
    }
  }
}

// Rows of values are counted in int.
int group_of(const AnyImages& source, const AnyImages& output) {
  constexpr int64_t kMostTogether = 4;
  const auto lie_together = [](const AnyImages& images) {
    return images.stride_c == 1 && images.stride_x == images.channels;
  };
  const int64_t row = source.layout == nullptr ? source.width * source.channels : source.numel;
  const bool fits = source.channels <= kMostTogether && row <= (1 << 30);
  return fits && lie_together(source) && lie_together(output) ? static_cast<int>(source.channels)
                                                              : 1;
}

}  // namespace

int clahe_cuda(const ClaheArguments& a, void* stream) {
  const int64_t items = a.source.count * a.source.channels * a.tiles_y * a.tiles_x;
  const int64_t blocks = (items + kWarps - 1) / kWarps;
  const int status =
      launch(clahe_luts_kernel, dim3(static_cast<unsigned>(std::min(blocks, kMostBlocks))),
             dim3(kThreads), 0, stream, ClaheLuts(a));
  if (status != 0) return status;
  const int group = group_of(a.source, a.output);
  const auto limited = [](int64_t size) {
    return static_cast<unsigned>(std::min(size, kMaxGridYZ));
  };
  return launch(clahe_blend_kernel,
                dim3(static_cast<unsigned>(a.tiles_y + 1), limited(a.source.channels / group),
                     limited(a.source.count)),
                dim3(kThreads), 0, stream, ClaheBlend(a), group);
}

}  // namespace orbbec
