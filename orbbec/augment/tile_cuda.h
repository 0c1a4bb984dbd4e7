// What the CUDA kernels of augment do in a tile of output pixels: a block loads the parameters of
// its images into shared memory, then a warp reads, changes and stores pixels, a thread in its
// column. The arithmetic is that of augment.h. Included by kernels_cuda.h.
#pragma once

#include "../executors/cuda/tiles.h"
#include "../executors/cuda/warp.h"
#include "augment.h"
#include "cached_rows_cuda.h"
#include "read_inside.h"
#include "shared_steps_cuda.h"
#include "store_cuda.h"

namespace orbbec {

constexpr int kMaxRows = 128;  // of a tile
constexpr int kMaxPixels = 4;  // of a thread at a time
// Pixels of a thread at a time, of any program.
template <class Op>
constexpr int kPixels = ReadInside<typename Op::Reader>::kPixels;

// Of pixels that are only read and normalized; 0: without a kernel of their own.
template <class Op>
constexpr int kNormalizedPixels = ReadInside<typename Op::Reader>::kNormalizedPixels;

template <class Op>
constexpr int kBlocks =
    blocks_of(kTileWidth * kTileHeight, ReadInside<typename Op::Reader>::kRegisters);
template <class Op>
constexpr int kColorBlocks =
    blocks_of(kTileWidth * kTileHeight, ReadInside<typename Op::Reader>::kColorRegisters);

// Rows [top, bottom) and up to `columns` columns of an output of this width. A warp owns
// `warp_rows` neighboring rows.
struct Tile {
  int left, top, bottom, width, warp_rows;
  int columns = kTileWidth;

  __device__ bool meets(const Mix& mix) const {
    return static_cast<float>(left)<mix.right&& static_cast<float>(left + kTileWidth)> mix.left &&
           static_cast<float>(top)<mix.bottom&& static_cast<float>(bottom)> mix.top;
  }
  // Threads beyond the last column compute its pixels and store none.
  __device__ int column() const {
    const int x = left + static_cast<int>(threadIdx.x);
    return x < width ? x : width - 1;
  }
  __device__ int first_row() const { return top + static_cast<int>(threadIdx.y) * warp_rows; }
  __device__ int end_row() const { return smaller(first_row() + warp_rows, bottom); }
};

__device__ inline Tile tile_at(const Image<uint8_t>& output, int left, unsigned top, int rows) {
  const int first = static_cast<int>(top), left_over = output.height - first;
  return {left, first, left_over < rows ? output.height : first + rows, output.width,
          rows / kTileHeight};
}

// Shared memory for an object that no constructor initializes.
template <class T>
struct SharedBytes {
  __align__(16) unsigned char bytes[sizeof(T)];

  __device__ T& as_object() { return *reinterpret_cast<T*>(bytes); }
};

constexpr int64_t kNoImage = -1;

// The parameters of an image and of the one that is mixed with it, for the threads of a block.
template <class Op>
struct SharedImages {
  using View = decltype(view_of(std::declval<typename Op::Reader>(), 0));

  SharedProgram programs[2];
  int64_t n[2];
  float matrices[2][PerspectiveTransform<float>::kNumbers];
  View views[2];
  bool are_separable[2];
  SourceRows rows[2][kMaxRows + kMaxPixels - 1];  // if separable; the last is repeated
  bool erases;                                    // in this tile
  int width;                                      // of the output
};

// Whether colors are always finite and from 0 to `max_value`: bytes are, where they are blended and
// no color is the rounded product of more than 1 and `max_value`.
template <class Op>
constexpr bool kMayBeInRange =
    ReadInside<typename Op::Reader>::kIsLight && sizeof(typename Op::Value) == 1;
template <class Op>
__device__ bool are_in_range(const Op& op) {
  return kMayBeInRange<Op> && op.arguments.program.max_value == 255;
}

// The gray sums of the tiles of image n.
template <class Op>
__device__ int64_t* gray_sums_of(const Op& op, int64_t n) {
  static_assert(kGrayTileWidth == kTileWidth && kGrayTileHeight == kTileHeight);
  return op.arguments.gray_sums + n * gray_tiles(op.arguments.warp.output);
}

__device__ inline int tiles_across(const Image<uint8_t>& output) {
  return (output.width - 1) / kTileWidth + 1;
}

// The gray sum of image n, whose tiles have `rows` rows, by a warp.
template <class Op>
__device__ int64_t gray_sum(const Op& op, int64_t n, int rows) {
  const Image<uint8_t> output = op.shapes[n];
  const int64_t* const sums = gray_sums_of(op, n);
  const int tiles = tiles_across(output) * ((output.height - 1) / rows + 1);
  int64_t sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < tiles; i += kWarp) sum += sums[i];
  return warp_sum(sum);
}

// Half of the threads of a block, numbered from 0, load the program, the matrix and the view of an
// image. While gray values are added, the program ends at the step that needs their mean.
template <class Op>
__device__ void load_image(const Op& op, int64_t n, int part, int thread, bool adds_gray,
                           int tile_rows, SharedImages<Op>& shared) {
  const Program program = op.program_without_mean(n);
  if (thread < PerspectiveTransform<float>::kNumbers)
    shared.matrices[part][thread] = op.arguments.matrices.number(n, thread);
  if (thread < program.count && program.count <= kMaxSharedSteps)
    shared.programs[part].steps[thread].construct(program, thread, are_in_range(op));
  if (thread == kWarp) shared.views[part] = view_of(op.reader, n);
  if (thread / kWarp != 2) return;
  const int contrast = op.arguments.gray_sums != nullptr ? program.contrast_step() : -1;
  const bool has_mean = contrast >= 0 && !adds_gray;
  const int64_t sum = has_mean ? gray_sum(op, n, tile_rows) : 0;
  if (thread % kWarp != 0) return;
  int count = contrast >= 0 && adds_gray ? contrast : program.count;
  while (count > 0 && program.code(count - 1) == StepCode::kNone) --count;
  shared.n[part] = n;
  shared.programs[part].count = count;
  shared.programs[part].mean = has_mean ? op.program(n, sum).mean : 0.0f;
}

template <class Op>
__device__ void load_images(const Op& op, const Tile& tile, int64_t image, int64_t pair,
                            bool adds_gray, SharedImages<Op>& shared) {
  constexpr int kHalf = kTileWidth * kTileHeight / 2;
  static_assert(kHalf >= kMaxRows && kHalf > 2 * kWarp);
  const int index = static_cast<int>(threadIdx.y) * kTileWidth + static_cast<int>(threadIdx.x);
  const int part = index / kHalf, thread = index % kHalf;
  const int64_t n = part == 0 ? image : pair;
  const bool exists = n != kNoImage;
  const int tile_rows = tile.warp_rows * kTileHeight;
  if (exists) load_image(op, n, part, thread, adds_gray, tile_rows, shared);
  bool meets = false;
  for (int i = thread; exists && i < op.arguments.boxes_per_image; i += kHalf)
    meets = meets ||
            op.box_meets(n, i, tile.left, tile.top, tile.left + tile.columns - 1, tile.bottom - 1);
  const bool erases = __syncthreads_or(meets) != 0;
  if (index == 0) shared.erases = erases, shared.width = tile.width;
  if (exists && thread == 0) {
    shared.are_separable[part] =
        ReadInside<typename Op::Reader>::kIsLight && is_separable(shared.matrices[part]);
  }
  using Inside = ReadInside<typename Op::Reader>;
  if constexpr (Inside::kIsLight) {
    if (exists && tile.top + thread < tile.bottom) {
      const auto tap = tap_of(with_matrix(op.reader, shared.matrices[part], tile.width),
                              shared.views[part], 0, tile.top + thread, 0);
      const SourceRows row = CachedRows<Inside>::rows_of(tap, Inside::image_of(shared.views[part]),
                                                         Inside::border_of(op.reader));
      shared.rows[part][thread] = row;
      const int repeated = tile.top + thread == tile.bottom - 1 ? kMaxPixels : 1;
      for (int i = 1; i < repeated; ++i) shared.rows[part][thread + i] = row;
    }
  }
  __syncthreads();
}

// Where the threads of a block keep their pixels while they compute those of the other image.
template <int kCount>
struct MixedPixels {
  float values[kCount][kMaxFills][kTileHeight][kTileWidth];

  __device__ void put(const float (&pixels)[kCount][kMaxFills]) {
    for (int p = 0; p < kCount; ++p) {
      for (int c = 0; c < kMaxFills; ++c) values[p][c][threadIdx.y][threadIdx.x] = pixels[p][c];
    }
  }
  __device__ float get(int p, int c) const { return values[p][c][threadIdx.y][threadIdx.x]; }
};

// A thread's view of an image: numbers in registers, the steps in shared memory.
template <class Op>
class AugmentThread {
 public:
  using Inside = ReadInside<typename Op::Reader>;
  using Tap = typename Inside::Tap;
  using View = typename SharedImages<Op>::View;
  static constexpr int kCount = kPixels<Op>;

  // `adds_gray`: whether gray values are added, of the pixels after the steps that `shared` has.
  __device__ AugmentThread(const Op& op, const SharedImages<Op>& shared, const Tile& tile,
                           const Quotients& quotients, bool adds_gray)
      : op_(op),
        shared_(shared),
        tile_(tile),
        quotients_(quotients),
        x_(tile.column()),
        end_(tile.end_row()),
        erases_(shared.erases),
        adds_gray_(adds_gray),
        multiplies_(quotients.are_exact && !shared.erases) {
    select(0);
  }

  // The pixels of this column in rows from `first` on, mixed with the other image where it is
  // visible.
  __device__ void mixed(int first, bool mixes, MixedPixels<kCount>& first_image,
                        float (&values)[kCount][kMaxFills]) {
    int begin = 0, end = 1;
    if (mixes) {
      const Mix mix(op_.arguments, shared_.n[0]);
      bool any = false, all = mix.replaces();
      for (int p = 0; p < kCount; ++p) {
        const bool covered = mix.covers(row_of(first, p), x_);
        any = any || covered;
        all = all && covered;
      }
      if (__any_sync(kAllLanes, any)) end = 2;
      if (__all_sync(kAllLanes, all)) begin = 1;
    }
    ORBBEC_ROLLED
    for (int part = begin; part < end; ++part) {
      if (mixes) select(part);
      finished(first, values);
      if (part + 1 < end) first_image.put(values);
    }
    if (end - begin == 2) mix_with(first_image, first, values);
  }

  // Pixels of this column, only read and normalized, in rows from `first` on.
  template <int kRows>
  __device__ void normalized(int first, float (&values)[kRows][kMaxFills]) {
    read(first, values);
    finish(values);
  }

  // Pixels of this column in rows from `first` on, of one image; for gray_units only its colors.
  __device__ void finished(int first, float (&values)[kCount][kMaxFills]) {
    read(first, values);
    if (op_.arguments.program.steps > 0) color(shared_.programs[part_].count, first, values);
    if (adds_gray_) return;
    if (erases_) {
      for_each_rolled(values, [&](int p, float (&pixel)[kMaxFills]) {
        op_.erase(shared_.n[part_], row_of(first, p), x_, pixel);
      });
    }
    finish(values);
  }

  // The sum of the gray values of the pixels that exist.
  __device__ unsigned gray_units(int first, const float (&values)[kCount][kMaxFills]) const {
    const Program program = op_.program_without_mean(0);
    const float units_of_1 = program.units_of_1();
    unsigned sum = 0;
    for (int p = 0; p < kCount; ++p) {
      const bool exists =
          first + p < end_ && tile_.left + static_cast<int>(threadIdx.x) < tile_.width;
      if (exists) sum += program.gray_units(values[p], units_of_1);
    }
    return sum;
  }

 private:
  __device__ int row_of(int first, int p) const { return smaller(first + p, end_ - 1); }

  __device__ void mix_with(const MixedPixels<kCount>& first_image, int first,
                           float (&values)[kCount][kMaxFills]) const {
    const Mix mix(op_.arguments, shared_.n[0]);
    for (int p = 0; p < kCount; ++p) {
      const bool covered = mix.covers(row_of(first, p), x_);
      for (int c = 0; c < kMaxFills; ++c) {
        const float value = first_image.get(p, c);
        const float both = mix.replaces() ? values[p][c] : mix.sum(value, values[p][c]);
        values[p][c] = covered ? both : value;
      }
    }
  }

  __device__ void select(int part) {
    part_ = part;
    reads_cached_ = false;
    if constexpr (Inside::kIsLight) {
      const SourceRows* const rows = shared_.rows[part];
      if (shared_.are_separable[part])
        reads_cached_ = cached_.prepare(op_.reader, view(), tap(tile_.top), rows[0],
                                        rows[tile_.bottom - tile_.top - 1]);
    }
  }

  __device__ const View& view() const { return shared_.views[part_]; }
  __device__ typename Op::Reader reader() const {
    return with_matrix(op_.reader, shared_.matrices[part_], shared_.width);
  }

  __device__ Tap tap(int y) const { return tap_of(reader(), view(), 0, y, x_); }

  template <int kRows>
  __device__ void read(int first, float (&values)[kRows][kMaxFills]) {
    if constexpr (Inside::kIsLight) {
      if (reads_cached_) {
        SourceRows rows[kRows];
        const SourceRows* const source_rows = shared_.rows[part_] + (first - tile_.top);
        for (int p = 0; p < kRows; ++p) rows[p] = source_rows[p];
        return cached_.read(op_.reader, view(), rows, values);
      }
    }
    read_taps(first, values);
  }

  template <int kRows>
  __device__ void read_taps(int first, float (&values)[kRows][kMaxFills]) const {
    const View& view = shared_.views[opaque(part_)];
    Inside inside;
    inside.prepare(op_.reader, view);
    unsigned outside = 0;  // bit p: whether a tap of row p is not inside the image
#pragma unroll
    for (int p = 0; p < kRows; ++p) {
      const Tap at = tap(row_of(first, p));
      if (__all_sync(kAllLanes, inside.inside.contain(at))) {
        inside.read(op_.reader, at, values[p]);
      } else {
        outside |= 1u << p;
      }
    }
    if (outside == 0) return;
    for_each_rolled(values, [&](int p, float (&pixel)[kMaxFills]) {
      if ((outside >> p & 1) == 0) return;
      const Tap at = tap(row_of(first, p));
      const bool at_border = Inside::has_border_pixels(op_.reader, view) && at.valid;
      if (__all_sync(kAllLanes, at_border)) return Inside::read_border(op_.reader, view, at, pixel);
      read_tap(op_.reader, view, at, pixel);
    });
  }

  // body(p, pixel) for each pixel, in one copy of the code.
  template <int kRows, int kChannels, class Body>
  __device__ static void for_each_rolled(float (&values)[kRows][kChannels], const Body& body) {
    ORBBEC_ROLLED
    for (int p = 0; p < kRows; ++p) {
      float pixel[kChannels];
      get(values, p, pixel);
      body(p, pixel);
      put(pixel, p, values);
    }
  }

  // Pixel p of several, for a number that the compiler does not know.
  template <int kRows, int kChannels>
  __device__ static void get(const float (&values)[kRows][kChannels], int p,
                             float (&pixel)[kChannels]) {
    for (int i = 0; i < kRows; ++i) {
      for (int c = 0; c < kChannels; ++c) pixel[c] = i == 0 || i == p ? values[i][c] : pixel[c];
    }
  }
  template <int kRows, int kChannels>
  __device__ static void put(const float (&pixel)[kChannels], int p,
                             float (&values)[kRows][kChannels]) {
    for (int i = 0; i < kRows; ++i) {
      for (int c = 0; c < kChannels; ++c) values[i][c] = i == p ? pixel[c] : values[i][c];
    }
  }

  // Runs the program up to step `end` for rows from `first` on. One channel stands for three equal
  // ones.
  __device__ void color(int end, int first, float (&values)[kCount][kMaxFills]) const {
    const SharedProgram& program = shared_.programs[part_];
    if (op_.arguments.program.steps > kMaxSharedSteps) {
      Program full = op_.program_without_mean(shared_.n[part_]);
      full.mean = program.mean;
      return for_each_rolled(values, [&](int p, float (&pixel)[kMaxFills]) {
        op_.color(full, end, row_of(first, p), x_, pixel);
      });
    }
    float rgb[kCount][3];
    const bool is_gray = op_.channels() == 1;
    for (int p = 0; p < kCount; ++p) {
      for (int c = 0; c < 3; ++c) rgb[p][c] = is_gray ? values[p][0] : values[p][c];
    }
    const SharedStep* const past = program.steps + end;
    ORBBEC_ROLLED
    for (const SharedStep* at = program.steps; at < past; ++at) {
      at->template with_step<kMayBeInRange<Op>>(program.mean, [&](const auto& step) {
        if constexpr (std::decay_t<decltype(step)>::kIsLong) {
          for_each_rolled(
              rgb, [&](int p, float (&pixel)[3]) { run_step(step, row_of(first, p), x_, pixel); });
        } else {
          for (int p = 0; p < kCount; ++p) run_step(step, row_of(first, p), x_, rgb[p]);
        }
      });
    }
    for (int p = 0; p < kCount; ++p) {
      for (int c = 0; c < 3; ++c) values[p][c] = rgb[p][c];
    }
  }

  template <int kRows>
  __device__ void finish(float (&values)[kRows][kMaxFills]) const {
    if (multiplies_) {
      for_each_value(values, [&](int c, float value) {
        const Finish last = op_.finish(c);
        return ConstantDivisor{last.std, quotients_.reciprocal[c]}.quotient(last.difference(value));
      });
    } else if (kRows > 1 && !op_.arguments.normalizes) {
      for_each_value(values, [&](int c, float value) { return op_.finish(c).scaled(value); });
    } else {
      for_each_value(values, [&](int c, float value) { return op_.finish(c)(value); });
    }
  }

  // Channels that an image lacks are computed, too, where that is cheaper than a test.
  template <int kRows, class Body>
  __device__ void for_each_value(float (&values)[kRows][kMaxFills], const Body& body) const {
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c) {
      if (kRows > 1 && c > 2 && c >= op_.channels()) break;
      for (int p = 0; p < kRows; ++p) values[p][c] = body(c, values[p][c]);
    }
  }

  const Op& op_;
  const SharedImages<Op>& shared_;
  const Tile& tile_;
  const Quotients& quotients_;
  int x_, end_, part_;  // `end_`: past the last row of the warp
  bool erases_, adds_gray_, multiplies_, reads_cached_;
  CachedRows<Inside> cached_;
};

}  // namespace orbbec
