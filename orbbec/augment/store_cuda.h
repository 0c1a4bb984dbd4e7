// Stores a row of pixels that a warp computed. Included by tile_cuda.h.
#pragma once

#include "../executors/cuda/bytes.h"
#include "../executors/cuda/tiles.h"
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
                                   const float (&values)[kMaxFills], uint32_t* staged, int lane) {
  Out* const pixel = reinterpret_cast<Out*>(staged) + lane * channels;
#pragma unroll
  for (int c = 0; c < kMaxFills; ++c) {
    if (c < channels) pixel[c] = store<Out>(values[c]);
  }
  __syncwarp();
  const int bytes = count * channels * static_cast<int>(sizeof(Out)), words = bytes / 4;
  ORBBEC_ROLLED
  for (int i = lane; i < words; i += kWarp) reinterpret_cast<uint32_t*>(to)[i] = staged[i];
  const int rest = 4 * words + lane;
  if (rest < bytes)
    reinterpret_cast<uint8_t*>(to)[rest] = reinterpret_cast<const uint8_t*>(staged)[rest];
  __syncwarp();
}

// 32 pixels of three bytes, from the threads that have them to those that store a word. `to` is
// aligned to a word.
__device__ inline void store_pixels_of_bytes(uint8_t* to, const float (&values)[kMaxFills]) {
  uint32_t pixel[3];
#pragma unroll
  for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint32_t>(round_to_byte(values[c]));
  const WordStore<kWarp> words;
  words.store(to + 4 * lane_id(), pixel, words.has_word(kWarp));
}

// Where the threads of a warp store the pixels of a row, columns from `left` on.
class OutputRow {
 public:
  // `shape` is that of the output, see Augment::shapes.
  __device__ OutputRow(const AugmentArguments& a, const Image<uint8_t>& shape, int y, int left,
                       int lane)
      : count_(smaller(kTileWidth, shape.width - left)), lane_(lane) {
    const AnyImages& o = a.warp.output;
    const int64_t size = bytes_of(a.output_dtype);
    const int64_t offset = shape.data - static_cast<const uint8_t*>(o.data);
    stride_y_ = shape.stride_y;
    at_ = static_cast<char*>(o.data) + (offset + left * o.stride_x + y * stride_y_) * size;
    const bool is_aligned = reinterpret_cast<uintptr_t>(at_) % 4 == 0 && stride_y_ * size % 4 == 0;
    is_side_by_side_ = is_aligned && o.channels > 1 && o.stride_c == 1 && o.stride_x == o.channels;
    if (!is_side_by_side_) at_ += lane * o.stride_x * size;
  }

  // The pixels of up to `rows` rows; moves to the row after them.
  template <int kRows>
  __device__ void store(const AugmentArguments& a, int rows,
                        const float (&values)[kRows][kMaxFills], uint32_t* staged) {
    const AnyImages& o = a.warp.output;
    const int channels = static_cast<int>(o.channels);
    with_output_type(a.output_dtype, [&](auto typed) {
      using Out = decltype(typed);
#pragma unroll
      for (int p = 0; p < kRows; ++p) {
        if (p > 0 && p >= rows) break;
        Out* const at = reinterpret_cast<Out*>(at_);
        at_ += stride_y_ * static_cast<int>(sizeof(Out));
        if (std::is_same_v<Out, uint8_t> && is_side_by_side_ && channels == 3 &&
            count_ == kTileWidth) {
          store_pixels_of_bytes(reinterpret_cast<uint8_t*>(at), values[p]);
        } else if (is_side_by_side_) {
          store_side_by_side(at, count_, channels, values[p], staged, lane_);
        } else if (lane_ < count_) {
          store_apart(at, o.stride_c, channels, values[p]);
        }
      }
    });
  }

 private:
  template <class Out>
  __device__ static void store_apart(Out* at, int64_t stride_c, int channels,
                                     const float (&values)[kMaxFills]) {
    if (channels == 3) {  // usual, and shorter
#pragma unroll
      for (int c = 0; c < 3; ++c, at += stride_c) *at = orbbec::store<Out>(values[c]);
      return;
    }
#pragma unroll
    for (int c = 0; c < kMaxFills; ++c, at += stride_c) {
      if (c < channels) *at = orbbec::store<Out>(values[c]);
    }
  }

  char* at_;  // of the first column if pixels are side by side, otherwise of this thread's column
  Stride stride_y_;
  int count_, lane_;
  bool is_side_by_side_;
};

}  // namespace orbbec
