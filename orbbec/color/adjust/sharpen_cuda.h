// adjust_sharpness of bytes on CUDA, four values of a row per thread. Included by adjust_cuda.cu.
#pragma once

#include "../../executors/cuda/bytes.h"
#include "../../executors/cuda/tiles.h"
#include "adjust.h"

namespace orbbec {

constexpr int kSharpenThreads = 256;

// How the values of a row are neighbors: of all channels, or of a plane. `step`: from a value to
// the same channel of the next pixel; `planes`: of an image, 0 where values are not neighbors.
struct ValueRows {
  int step, planes;

  ValueRows(const AnyImages& from, const AnyImages& to) {
    const int channels = static_cast<int>(to.channels);
    const auto are_together = [&](const AnyImages& a) {
      return a.layout != nullptr || (a.stride_c == 1 && a.stride_x == channels);
    };
    const bool together = are_together(from) && are_together(to);
    step = together ? channels : 1;
    planes = together ? 1 : from.stride_x == 1 && to.stride_x == 1 ? channels : 0;
  }
};

// Four values of a row from an address on.
struct SharpenedValues {
  const uint8_t* from;
  int64_t stride_y;
  int step;
  float rest;

  __device__ __forceinline__ uint8_t one(int i) const {
    const auto around = [&](int dy, int dx) { return from[i + dy * stride_y + dx * step]; };
    return Sharpen<uint8_t>::sharpened(around, rest);
  }

  __device__ __forceinline__ uint32_t all() const {
    uint32_t words[3][3];
#pragma unroll
    for (int k = 0; k < 9; ++k)
      words[k / 3][k % 3] = load_word(from + (k / 3 - 1) * stride_y + (k % 3 - 1) * step);
    uint32_t values[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto around = [&](int dy, int dx) { return byte_of(words[dy + 1][dx + 1], i); };
      values[i] = Sharpen<uint8_t>::sharpened(around, rest);
    }
    return pack_bytes(values[0], values[1], values[2], values[3]);
  }
};

// A thread owns every gridDim.x * 256-th group of four values of an image. Inner values read nine
// words of three rows, from L1 but for the first time in a block; borders are copied.
__global__ void __launch_bounds__(kSharpenThreads, blocks_of(kSharpenThreads, 64))
    sharpen_rows_kernel(const Sharpen<uint8_t> op, const ValueRows rows) {
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    const Image<const uint8_t> from = op.source[n];
    const Image<uint8_t> to = op.output[n];
    const bool stays = from.height <= 2 || from.width <= 2 || op.stays(n);
    const int values = to.width * rows.step, groups = (values + 3) / 4;
    const int64_t items = int64_t{groups} * to.height;
    for (int plane = 0; plane < rows.planes; ++plane) {
      for (int64_t k = int64_t{blockIdx.x} * kSharpenThreads + threadIdx.x; k < items;
           k += int64_t{gridDim.x} * kSharpenThreads) {
        const Position at = position_of(k, groups);
        const int y = at.y, first = 4 * at.x;
        const SharpenedValues sharpened{&from.at(y, 0, plane) + first, from.stride_y, rows.step,
                                        op.rest(n)};
        uint8_t* const target = &to.at(y, 0, plane) + first;
        const bool is_copied = stays || y == 0 || y == from.height - 1;
        const int begin = is_copied ? values : rows.step, end = values - rows.step;  // inner values
        // A word may reach beyond the row, but not beyond the image.
        const bool has_words = first + 4 <= values && y + 2 < from.height &&
                               reinterpret_cast<uintptr_t>(target) % 4 == 0;
        if (has_words && is_copied) {
          *reinterpret_cast<uint32_t*>(target) = load_word(sharpened.from);
        } else if (has_words && first >= begin && first + 4 <= end) {
          *reinterpret_cast<uint32_t*>(target) = sharpened.all();
        } else {
          for (int i = 0; i < 4 && first + i < values; ++i) {
            const bool is_inner = first + i >= begin && first + i < end;
            target[i] = is_inner ? sharpened.one(i) : sharpened.from[i];
          }
        }
      }
    }
  }
}

inline int sharpen_rows_cuda(const Sharpen<uint8_t>& op, const ValueRows& rows, void* stream) {
  return launch(sharpen_rows_kernel, image_grid(op.output.count), dim3(kSharpenThreads), 0, stream,
                op, rows);
}

}  // namespace orbbec
