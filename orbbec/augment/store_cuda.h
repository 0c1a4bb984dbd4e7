// Stores a row of pixels that a warp computed. Included by tile_cuda.h.
#pragma once

#include "../executors/executor_cuda.h"
#include "augment.h"

namespace orbbec {

// Rows of pixels on their way from threads to whole words of memory, one for each warp.
struct StagedRows {
  uint32_t words[kTileHeight][kTileWidth * kMaxFills];
};

// Channels that lie side by side: through shared memory, so that neighboring threads store
// neighboring words. `to` is that of the first of `count` pixels, aligned to a word.
template <class Out>
__device__ void store_side_by_side(Out* to, int count, int channels,
                                   const float (&values)[kMaxFills], uint32_t* staged) {
  Out* const own = reinterpret_cast<Out*>(staged) + threadIdx.x * channels;
#pragma unroll
  for (int c = 0; c < kMaxFills; ++c) {
    if (c < channels) own[c] = store<Out>(values[c]);
  }
  __syncwarp();
  const int bytes = count * channels * static_cast<int>(sizeof(Out)), words = bytes / 4;
  ORBBEC_ROLLED
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kWarp)
    reinterpret_cast<uint32_t*>(to)[i] = staged[i];
  const int rest = 4 * words + static_cast<int>(threadIdx.x);
  if (rest < bytes)
    reinterpret_cast<uint8_t*>(to)[rest] = reinterpret_cast<const uint8_t*>(staged)[rest];
  __syncwarp();
}

// Where the threads of a warp store the pixels of a row, columns from `left` on.
class OutputRow {
 public:
  // `shape` is that of the output, see Augment::shapes.
  __device__ OutputRow(const AugmentArguments& a, const Image<uint8_t>& shape, int y, int left)
      : channels_(static_cast<int>(a.warp.output.channels)),
        count_(smaller(kTileWidth, shape.width - left)) {
    const AnyImages& o = a.warp.output;
    const int64_t size = bytes_of(a.output_dtype);
    const int64_t offset = shape.data - static_cast<const uint8_t*>(o.data);
    row_bytes_ = shape.stride_y * size;
    channel_bytes_ = o.stride_c * size;
    first_ = static_cast<char*>(o.data) + (offset + left * o.stride_x) * size + y * row_bytes_;
    own_bytes_ = static_cast<int>(threadIdx.x) * o.stride_x * size;
    const bool is_aligned = reinterpret_cast<uintptr_t>(first_) % 4 == 0 && row_bytes_ % 4 == 0;
    is_side_by_side_ = is_aligned && o.stride_c == 1 && o.stride_x == channels_ && channels_ > 1;
  }

  // The pixels of up to `rows` rows, kTileHeight apart; moves to the row after them.
  template <int kRows>
  __device__ void store(DType dtype, int rows, const float (&values)[kRows][kMaxFills],
                        uint32_t* staged) {
    with_output_type(dtype, [&](auto typed) {
      using Out = decltype(typed);
#pragma unroll
      for (int p = 0; p < kRows; ++p, move(kTileHeight)) {
        if (p > 0 && p * kTileHeight >= rows) continue;
        if (is_side_by_side_) {
          store_side_by_side(reinterpret_cast<Out*>(first_), count_, channels_, values[p], staged);
        } else if (static_cast<int>(threadIdx.x) < count_) {
          store_apart<Out>(first_ + own_bytes_, values[p]);
        }
      }
    });
  }

 private:
  __device__ void move(int rows) { first_ += rows * row_bytes_; }

  template <class Out>
  __device__ void store_apart(char* at, const float (&values)[kMaxFills]) const {
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c) {
      if (c >= channels_) break;
      *reinterpret_cast<Out*>(at) = orbbec::store<Out>(values[c]);
      at += channel_bytes_;
    }
  }

  char* first_;
  int64_t row_bytes_, channel_bytes_, own_bytes_;
  int channels_, count_;
  bool is_side_by_side_;
};

}  // namespace orbbec
