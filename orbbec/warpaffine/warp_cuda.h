// The CUDA kernel of all warps: a block owns a tile of 32 columns, a warp 32 pixels of it in a few
// rows, a thread one pixel in all channels. Where all taps of a warp are inside the image, it reads
// and stores words; else each tap is tested. Included by *_cuda.cu of the operators that resample.
#pragma once

#include "../core/opaque.h"
#include "../executors/cuda/tiles.h"
#include "warp_sums_cuda.h"

namespace orbbec {

constexpr int kWarpStep = kTileHeight;  // rows of a block at a time
constexpr int64_t kMaxWarpSteps = 10;   // more steps save little, and leave a longer tail
constexpr int64_t kFullBlocks = 2048;   // these fill a device: a smaller call has fewer steps

// The lanes of a warp in a row. Stores of wider types fill whole sectors of 32 bytes. Bytes would
// in rows of 32, but rows of 16 read fewer sectors of a rotated image.
template <class T>
constexpr int kLanesInRow = sizeof(T) == 1 ? 16 : 32 / sizeof(T);

// A pixel of the block's step, from its first.
template <class T>
struct LanePosition {
  int x, y;
  __device__ __forceinline__ LanePosition() {
    constexpr int kWide = kLanesInRow<T>, kWarpsInRow = kTileWidth / kWide;
    const int lane = threadIdx.x, warp = threadIdx.y;
    x = warp % kWarpsInRow * kWide + lane % kWide;
    y = warp / kWarpsInRow * (kTileWidth / kWide) + lane / kWide;
  }
};

template <class T>
__device__ __forceinline__ Image<const uint8_t> image_of_bytes(const Image<const T>& image) {
  return {.data = reinterpret_cast<const uint8_t*>(image.data),
          .height = image.height,
          .width = image.width,
          .stride_y = image.stride_y,
          .stride_x = image.stride_x,
          .stride_c = image.stride_c};
}

// One image of a warp, as a thread has it in registers.
template <class Op>
struct WarpedImage {
  using T = typename Op::Value;
  using Transform = typename Op::Transform;
  using Sampler = typename Op::Sampler;
  static constexpr int kSize = Sampler::kSize;
  static constexpr bool kReadsWords = std::is_same_v<T, uint8_t> && kSize > 1;
  // Pixels per thread. One for double, where recomputing a border tap costs more than overlap
  // saves.
  static constexpr int kPixels =
      kReadsWords && kSize == 2 && sizeof(typename Transform::Number) < 8 ? 2 : 1;

  const Op& op;
  const float* table;  // of TabulatedSampler's weights
  int* columns;        // of this thread, for a BorderReader
  int64_t n;
  Transform transform;
  Image<const T> image;
  Image<T> target;
  WordLimits<kSize> words;
  bool has_three;     // channels
  bool is_empty;      // the image
  bool is_filled;     // beyond it
  bool stores_words;  // whether the warp's pixels of a row are whole words
  bool has_word;      // whether this lane stores one
  T* word;            // that of row 0
  WordStore<kLanesInRow<T> / 4 * 4> store_word;

  // `numbers`: of the transform. x: the thread's column.
  __device__ __forceinline__
  WarpedImage(const Op& op, int64_t n, int x,
              typename Transform::Number (&numbers)[Transform::kNumbers + 1], const float* table,
              int* columns)
      : op(op),
        table(table),
        columns(columns),
        n(n),
        transform(op.transform.in_registers(n, numbers)),
        image(op.source[n]),
        target(op.output[n]),
        words(image_of_bytes(image), kReadsWords ? op.output.channels : 0),
        has_three(op.output.channels == 3),
        is_empty(image.height < 1 || image.width < 1),
        is_filled(op.border == Border::kConstant) {
    const int first_column = x - static_cast<int>(threadIdx.x) % kLanesInRow<T>;
    const int left = target.width - first_column;
    T* const first = &target.at(0, first_column, 0);
    has_word = store_word.has_word(left);
    word = first + threadIdx.x % kLanesInRow<T> * 4;
    stores_words = sizeof(T) == 1 && target.stride_x == 3 && target.stride_c == 1 &&
                   (left >= kLanesInRow<T> || left % 4 == 0) && target.stride_y % 4 == 0 &&
                   target.height * target.stride_y <= Stride::kMax &&
                   reinterpret_cast<uintptr_t>(first) % 4 == 0;
  }

  // Stores kPixels pixels of column x, the first in row y and kWarpStep rows apart: those above
  // `bottom`, if `in_column`. All lanes of a warp call it.
  __device__ __forceinline__ void store_pixels(unsigned y, unsigned bottom, int x,
                                               bool in_column) const {
    if constexpr (kPixels > 1) {
      if (words.pixel != 0 && store_interior(y, bottom, x, in_column)) return;
    }
#pragma unroll 1
    for (int p = 0; p < kPixels; ++p, y += kWarpStep) {
      int row = smaller(y, bottom - 1);    // lanes beyond repeat the last
      if (kPixels > 1) row = opaque(row);  // not those of store_interior, in registers
      const typename Op::Tap tap = locate(row, x);
      if constexpr (kReadsWords) {
        if (words.pixel != 0 && store_interior_or_fill(tap, row, x, y < bottom, in_column))
          continue;
      }
      store_with_border(tap, row, x, y < bottom, in_column);
    }
  }

  // False if a tap of the warp is not inside.
  __device__ __forceinline__ bool store_interior(unsigned y, unsigned bottom, int x,
                                                 bool in_column) const {
    typename Op::Tap taps[kPixels];
    bool inside = true;
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const int row = smaller(y + p * kWarpStep, bottom - 1);
      taps[p] = locate(row, x);
      inside &= words.contain(taps[p].x, taps[p].y);
    }
    if (!__all_sync(kAllLanes, inside)) return false;
    Pixel<T> values[kPixels][3];
    read_words(taps, values);
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const unsigned row = y + p * kWarpStep;
      store_three(row, x, values[p], row < bottom, row < bottom && in_column);
    }
    return true;
  }

  template <int kCount>
  __device__ __forceinline__ void read_words(const typename Op::Tap (&taps)[kCount],
                                             Pixel<T> (&values)[kCount][3]) const {
    if (words.pixel == 3) {
      read_words_of<3>(taps, values);
    } else {
      read_words_of<1>(taps, values);
    }
  }

  template <int kPixel, int kCount>
  __device__ __forceinline__ void read_words_of(const typename Op::Tap (&taps)[kCount],
                                                Pixel<T> (&values)[kCount][3]) const {
#pragma unroll
    for (int p = 0; p < kCount; ++p) {
      const WordReader<kSize, kPixel> reader(image, taps[p].x, taps[p].y);
      sum_taps<Op>(table, taps[p], reader, values[p]);
    }
  }

  // True if no lane of the warp needs more than words and the fill.
  __device__ __forceinline__ bool store_interior_or_fill(const typename Op::Tap& tap, int y, int x,
                                                         bool in_row, bool in_column) const {
    const bool inside = words.contain(tap.x, tap.y);
    const bool ready = inside | (is_filled & words.miss(tap.x, tap.y, image));
    if (!__all_sync(kAllLanes, ready)) return false;
    Pixel<T> values[1][3] = {{op.fill[0], op.fill[1], op.fill[2]}};
    const typename Op::Tap taps[1] = {tap};
    if (inside) read_words(taps, values);
    store_three(y, x, values[0], in_row, in_row && in_column);
    return true;
  }

  __device__ __forceinline__ typename Op::Tap locate(int y, int x) const {
    return locate_tap<Op>(op, transform, image, n, y, x);
  }

  __device__ __forceinline__ void store_with_border(const typename Op::Tap& tap, int y, int x,
                                                    bool in_row, bool in_column) const {
    const bool active = in_row && in_column;
    const bool sums_taps = kSumsTaps<Op> && !is_fixed_transparent();
    if (has_three && sums_taps) {
      Pixel<T> values[3] = {};
      if (active) read(tap, y, x, 0, values);  // a transparent border reads the output
      store_three(y, x, values, in_row, active);
    } else if (active) {
      for (int64_t c = 0; c < op.output.channels; ++c) {
        Pixel<T> value[1];
        if (sums_taps) {
          read(tap, y, x, c, value);
        } else {
          value[0] = op.outside(target, y, x, c);
          if (!is_empty && tap.valid) value[0] = op.read(image, tap, c, static_cast<T>(value[0]));
        }
        target.at(y, x, c) = static_cast<T>(value[0]);
      }
    }
  }

  // The values of kChannels channels from `first_channel` on.
  template <int kChannels>
  __device__ __forceinline__ void read(const typename Op::Tap& tap, int y, int x,
                                       int64_t first_channel, Pixel<T> (&values)[kChannels]) const {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) values[c] = op.outside(target, y, x, first_channel + c);
    if (is_empty || !tap.valid) return;
    if constexpr (kSumsTaps<Op>) {
      if (Sampler::template returns_outside<T>(tap, image, op.border)) return;
      Border border = op.border;
      if constexpr (kSumsProducts<Op>) border = Sampler::tap_border(border);
      const BorderReader<T, kSize, kChannels> reader(image, border, tap.x, tap.y, first_channel,
                                                     values, columns);
      sum_taps<Op>(table, tap, reader, values);
    }
  }

  // The linear sampler of OpenCV 4 has a rule of its own for a transparent border.
  __device__ __forceinline__ bool is_fixed_transparent() const {
    return std::is_same_v<Sampler, LinearFixedSampler> && op.border == Border::kTransparent;
  }

  __device__ __forceinline__ void store_three(int y, int x, const Pixel<T> (&values)[3],
                                              bool in_row, bool active) const {
    if constexpr (sizeof(T) == 1) {
      if (stores_words) {
        const uint32_t offset = static_cast<uint32_t>(y) * target.stride_y.elements;
        store_word.store(word + offset, values, in_row && has_word);
        return;
      }
    }
    if (!active) return;
#pragma unroll
    for (int c = 0; c < 3; ++c) target.at(y, x, c) = static_cast<T>(values[c]);
  }
};

// A block owns a tile of 32 columns and `steps` times 8 rows; in each step a warp owns 32 pixels in
// rows of kLanesInRow, a thread one pixel in all channels. A thread reads the pixels of kPixels
// steps at once, so that their loads overlap. It looks up the image and its
// transform once. Shared memory: the weights of tabulated samplers, 4 bytes per tap and fraction,
// and, of more than 2 x 2 taps, the columns of a pixel at a border, 4 bytes per thread and column.
// Each output byte is written once; a source byte is read by each pixel that needs it, from L1 but
// for the first time in a block.
template <class Op>
__global__ void __launch_bounds__(kTileWidth* kTileHeight,
                                  blocks_of(kTileWidth* kTileHeight, kWarpRegisters<Op>))
    warp_kernel(const Op op, unsigned steps) {
  using T = typename Op::Value;
  __shared__ float table[kTableSize<Op>];
  fill_table<Op>(table);
  __shared__ int columns[Op::Sampler::kSize * kWarpThreads];
  const LanePosition<T> position;
  const unsigned width = op.output.width, height = op.output.height;  // 31 bits each
  const unsigned x = blockIdx.x * kTileWidth + position.x;
  const int column = static_cast<int>(smaller(x, width - 1));  // lanes beyond repeat the last
  for (int64_t n = blockIdx.z; n < op.output.count; n += gridDim.z) {
    typename Op::Transform::Number numbers[Op::Transform::kNumbers + 1];
    const WarpedImage<Op> warped(op, n, static_cast<int>(x), numbers, table,
                                 columns + threadIdx.y * kWarp + threadIdx.x);
    const unsigned rows = steps * kWarpStep;
    for (unsigned top = blockIdx.y * rows; top < height; top += gridDim.y * rows) {
      const unsigned bottom = smaller(top + rows, height);
      for (unsigned step = top; step < bottom; step += WarpedImage<Op>::kPixels * kWarpStep) {
        warped.store_pixels(step + position.y, bottom, column, x < width);
      }
    }
  }
}

// Runs `op` on `stream`. Returns a cudaError_t.
template <class Op>
int launch_warp_cuda(const Op& op, void* stream) {
  constexpr int64_t kMinSteps = WarpedImage<Op>::kPixels;
  const AnyImages& output = op.output;
  const dim3 small = tile_grid(output.width, output.height, output.count);
  const int64_t blocks = static_cast<int64_t>(small.x) * small.y * small.z;
  const int64_t most = smaller(blocks / kFullBlocks, kMaxWarpSteps);
  const int64_t steps = larger(most / kMinSteps, int64_t{1}) * kMinSteps;
  const int64_t tile_rows = (output.height + steps - 1) / steps;
  return launch(warp_kernel<Op>, tile_grid(output.width, tile_rows, output.count),
                dim3(kTileWidth, kTileHeight), 0, stream, op, static_cast<unsigned>(steps));
}

}  // namespace orbbec
