// Runs pointwise functors over images of bytes, dense or variable-size, on a CUDA device: words are
// loaded and stored, whatever the layout. Included by *_cuda.cu; sees CUDA, never torch.
//
// A functor `op` has `output`, kSources images of bytes `op.source_of(n, i)`, and channels kIn and
// kOut; where these are 0, both are `op.output.channels`. `op.of_image(n)` returns what computes a
// pixel of image n from bytes as integers, `work(in, out)`, once per thread; where
// Op::kSameForChannels, it also computes a value of any channel; where there is an Op::Table, it is
// `op.of_image(n, table)`. `op.is_ordinary(n)` tells whether all sources have the size of the
// output and no pixel needs its position. Other pixels: `op(n, y, x)`. Where there is
// `op.skips(n)`, the images for which it is true are not written.
#pragma once

#include "../../core/table_of.h"
#include "groups.h"
#include "ragged.h"
#include "values.h"

namespace orbbec {

// Rules with parameters need the registers that 16 pixels take.
template <class Op>
constexpr bool may_be_wide() {
  if constexpr (std::is_same_v<typename Op::Out, uint8_t> && Op::kIn == 3 && Op::kOut == 3)
    return std::is_empty_v<typename Op::Rule>;
  return false;
}

// What the threads of a block share about an image.
template <class Op>
struct SharedPointwise {
  using Out = typename Op::Out;
  static constexpr bool kMayBeWide = may_be_wide<Op>();
  static constexpr int kStaged = kMayBeWide ? WidePixels::kWords : kStagedWords<Out>;  // per thread
  GroupedPixels<const uint8_t> from[Op::kSources];
  GroupedPixels<Out> to;
  int64_t pixels;
  int width;
  bool has_groups, is_wide;
};

template <class Op>
__device__ void load_shared(const Op& op, int64_t n, SharedPointwise<Op>& shared) {
  const int channels = static_cast<int>(op.output.channels);
  const auto target = op.output[n];
  const int64_t pixels = int64_t{target.height} * target.width;
  const auto to = GroupedPixels<typename Op::Out>::of(target, Op::kOut != 0 ? Op::kOut : channels);
  bool grouped = to.packing != Packing::kNone && op.is_ordinary(n) && pixels < (1 << 30);
  // Most threads should have a group.
  const int64_t min_pixels = int64_t{gridDim.x} * kPointwiseThreads * (WidePixels::kPixels / 2);
  bool wide = to.packing == Packing::kPixels && WidePixels::fits(to.data) && pixels >= min_pixels;
  for (int i = 0; i < Op::kSources; ++i) {
    const auto from =
        GroupedPixels<const uint8_t>::of(op.source_of(n, i), Op::kIn != 0 ? Op::kIn : channels);
    grouped = grouped && from.packing != Packing::kNone;
    wide = wide && from.packing == Packing::kPixels && WidePixels::fits(from.data);
    shared.from[i] = from;
  }
  shared.to = to;
  shared.pixels = pixels;
  shared.width = target.width;
  shared.has_groups = grouped && (Op::kIn != 0 || channels == 3 || channels == 1);
  shared.is_wide = shared.has_groups && wide;
}

template <class Op, class = void>
struct MaySkip : std::false_type {};
template <class Op>
struct MaySkip<Op, std::void_t<decltype(&Op::skips)>> : std::true_type {};

template <class Op, class Table>
__device__ auto work_of(const Op& op, int64_t n, const Table& table) {
  if constexpr (TableOf<Op>::kExists) return op.of_image(n, table);
  if constexpr (!TableOf<Op>::kExists) return op.of_image(n);
}

// Every gridDim.x-th run of groups, a group per thread. Returns the number of pixels in groups.
template <int kIn, int kOut, class Op, class Table>
__device__ int64_t run_groups(const Op& op, int64_t n, const SharedPointwise<Op>& shared,
                              const Table& table, uint32_t* staged) {
  using Out = typename Op::Out;
  const auto work = work_of(op, n, table);
  const int groups = static_cast<int>(shared.pixels / kGroup);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int first = (static_cast<int>(blockIdx.x) * kPointwiseWarps + warp) * kWarp; first < groups;
       first += static_cast<int>(gridDim.x) * kPointwiseThreads) {
    int in[Op::kSources][kGroup][kIn];
    for (int i = 0; i < Op::kSources; ++i) load_group(shared.from[i], first, groups, staged, in[i]);
    Out out[kGroup][kOut];
    for (int p = 0; p < kGroup; ++p) {
      int pixel[Op::kSources][kIn];
      for (int i = 0; i < Op::kSources; ++i) {
        for (int c = 0; c < kIn; ++c) pixel[i][c] = in[i][p][c];
      }
      work(pixel, out[p]);
    }
    store_group(shared.to, first, groups, staged, out);
  }
  return int64_t{groups} * kGroup;
}

// The same for groups of 16 pixels of 3 bytes.
template <class Op, class Table>
__device__ int64_t run_wide_groups(const Op& op, int64_t n, const SharedPointwise<Op>& shared,
                                   const Table& table, uint4* staged) {
  constexpr int kPixels = WidePixels::kPixels, kWords = WidePixels::kWords;
  const uint8_t* from[Op::kSources];
  for (int i = 0; i < Op::kSources; ++i) from[i] = shared.from[i].data;
  uint8_t* const to = shared.to.data;
  const auto work = work_of(op, n, table);
  const int groups = static_cast<int>(shared.pixels / kPixels);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int first = (static_cast<int>(blockIdx.x) * kPointwiseWarps + warp) * kWarp; first < groups;
       first += static_cast<int>(gridDim.x) * kPointwiseThreads) {
    uint32_t in[Op::kSources][kWords], out[kWords];
    for (int i = 0; i < Op::kSources; ++i) WidePixels::load(from[i], first, groups, staged, in[i]);
#pragma unroll
    for (int four = 0; four < kWords; four += 3) {
      uint8_t result[kGroup][3];
#pragma unroll
      for (int p = 0; p < kGroup; ++p) {
        int pixel[Op::kSources][3];
        for (int i = 0; i < Op::kSources; ++i) {
          for (int c = 0; c < 3; ++c) pixel[i][c] = value_of(in[i] + four, 3 * p + c);
        }
        work(pixel, result[p]);
      }
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        const uint8_t* const bytes = &result[0][0] + 4 * k;
        out[four + k] = pack_bytes(bytes[0], bytes[1], bytes[2], bytes[3]);
      }
    }
    WidePixels::store(to, first, groups, staged, out);
  }
  return int64_t{groups} * kPixels;
}

template <class Op, class Table>
__device__ int64_t run_all_groups(const Op& op, int64_t n, const SharedPointwise<Op>& shared,
                                  const Table& table, uint32_t* staged) {
  if (!shared.has_groups) return 0;
  if constexpr (SharedPointwise<Op>::kMayBeWide) {
    if (shared.is_wide) {
      return run_wide_groups(op, n, shared, table, reinterpret_cast<uint4*>(staged));
    }
  }
  if constexpr (Op::kIn != 0) return run_groups<Op::kIn, Op::kOut>(op, n, shared, table, staged);
  if constexpr (Op::kIn == 0) {
    return op.output.channels == 3 ? run_groups<3, 3>(op, n, shared, table, staged)
                                   : run_groups<1, 1>(op, n, shared, table, staged);
  }
}

// Divides 32 bits where they are enough: 64 take seven times as long.
template <class Shared>
__device__ int64_t row_of(int64_t pixel, const Shared& shared) {
  const bool is_short = shared.pixels <= 0xffffffff;
  return is_short ? static_cast<uint32_t>(pixel) / static_cast<uint32_t>(shared.width)
                  : pixel / shared.width;
}

// Every gridDim.x-th run of 256 pixels from `first` on, a pixel per thread.
template <class Op, class Shared>
__device__ void run_pixels(const Op& op, int64_t n, const Shared& shared, int64_t first) {
  for (int64_t p = first + int64_t{blockIdx.x} * kPointwiseThreads + threadIdx.x; p < shared.pixels;
       p += int64_t{gridDim.x} * kPointwiseThreads) {
    const int64_t y = row_of(p, shared);
    op(n, static_cast<int>(y), static_cast<int>(p - y * shared.width));
  }
}

// A block owns every gridDim.x-th run of 1024 pixels of an image, a warp 128 neighboring ones, a
// thread 4; or four times as many where loads of 16 bytes are aligned. Each byte is read once.
// Pixels of several channels pass through shared memory, 12 bytes per thread and byte of a value,
// or 48; the table of the functor lies there too.
template <class Op>
__global__ void __launch_bounds__(kPointwiseThreads, 4)
    for_each_pixel_of_bytes_kernel(const Op op) {
  __shared__ SharedPointwise<Op> shared;
  __shared__ __align__(16) uint32_t staged[kPointwiseWarps][kWarp * SharedPointwise<Op>::kStaged];
  using Table = typename TableOf<Op>::Type;
  __shared__ Table table;
  for (int i = threadIdx.x; i < Table::kEntries; i += kPointwiseThreads) table.set(i);
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    if constexpr (MaySkip<Op>::value)
      if (op.skips(n)) continue;
    if (threadIdx.x == 0) load_shared(op, n, shared);
    __syncthreads();
    const int64_t done = run_all_groups(op, n, shared, table, staged[threadIdx.x / kWarp]);
    run_pixels(op, n, shared, done);
    __syncthreads();
  }
}

// A block owns every gridDim.x-th run of 4096 values of an image, a thread 16 neighboring ones; or
// runs of 1024 and 256 where the images are not aligned. Each byte is read once. No shared memory
// but what it knows of the image.
template <class Op>
__global__ void __launch_bounds__(kPointwiseThreads, 4)
    for_each_value_of_bytes_kernel(const Op op) {
  static_assert(std::is_same_v<typename Op::Out, uint8_t>);
  __shared__ SharedValues<Op> shared;
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    const auto work = op.of_image(n);
    if (threadIdx.x == 0) load_shared(op, n, shared);
    __syncthreads();
    if (shared.alignment == 0) {
      run_pixels(op, n, shared, 0);
    } else {
      int64_t done = 0;
      if (shared.alignment == 16) done = run_values<16>(work, shared, done);
      if (shared.alignment == 4) done = run_values<4>(work, shared, done);
      run_values<1>(work, shared, done);
    }
    __syncthreads();
  }
}

// Blocks per image: a thread has 4 groups of pixels, so that what it learns of the image pays, or
// fewer where there would be too few blocks. The sizes of a variable-size batch are on the device:
// enough blocks for images of the average size, and for a few to fill it.
inline unsigned runs_per_image(const AnyImages& images, int64_t group = kGroup) {
  constexpr int64_t kMinRuns = 16, kMaxRuns = int64_t{1} << 30;
  const int64_t dense = int64_t{images.height} * images.width;
  const int64_t ragged = images.numel / larger(images.channels * images.count, int64_t{1});
  const int64_t pixels = images.layout == nullptr ? dense : ragged;
  int64_t runs = 0;
  for (int64_t groups = 4; groups > 0 && runs * images.count < kEnoughBlocks; --groups)
    runs = (pixels - 1) / (group * kPointwiseThreads * groups) + 1;
  if (images.layout != nullptr) runs = larger(runs, kMinRuns);
  return static_cast<unsigned>(smaller(runs, kMaxRuns));
}

// op(n, y, x) for every pixel of the outputs, on `stream`. Returns a cudaError_t.
template <class Op>
int for_each_pixel_of_bytes_cuda(const Op& op, void* stream) {
  static_assert(std::is_same_v<typename Op::In, uint8_t>);
  const auto images = grid_blocks(op.output.count);
  if constexpr (Op::kSameForChannels) {
    const int64_t pixels = larger(16 / op.output.channels, int64_t{1});
    return launch(for_each_value_of_bytes_kernel<Op>,
                  dim3(runs_per_image(op.output, pixels), images), dim3(kPointwiseThreads), 0,
                  stream, op);
  } else {
    return launch(for_each_pixel_of_bytes_kernel<Op>, dim3(runs_per_image(op.output), images),
                  dim3(kPointwiseThreads), 0, stream, op);
  }
}

// The same for any pointwise functor.
template <class Op>
int run_pointwise_cuda(const Op& op, void* stream) {
  if constexpr (std::is_same_v<typename Op::In, uint8_t>) {
    return for_each_pixel_of_bytes_cuda(op, stream);
  } else {
    return for_each_pixel_cuda(op, op.output, stream);  // variable-size images are of bytes
  }
}

}  // namespace orbbec
