// pillow_blur on the CPU, channel by channel: along columns, whose sums move down many at once. For
// the rows, the image is transposed.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "../../executors/executor_cpu.h"
#include "pillow_blur.h"

namespace orbbec {
namespace {

constexpr int64_t kPixelsPerBlur = 4;  // the cost of a blurred pixel, in pixels
constexpr int kLanes = 256;            // columns whose sums stay in the cache

// One box blur along `width` columns of `height` pixels.
ORBBEC_HD void blur_columns(const uint8_t* from, uint8_t* to, int height, int width, Box box) {
  const auto row = [&](int y) {
    return from + int64_t{border_index(y, height, Border::kReplicate)} * width;
  };
  const int inside = std::min(box.reach, height - 1);
  for (int first = 0; first < width; first += kLanes) {
    const int count = std::min(kLanes, width - first);
    uint32_t sums[kLanes];
    const uint8_t* const top = row(0) + first;
    const uint8_t* const bottom = row(height - 1) + first;
    const uint32_t above = box.reach + 1, below = box.reach - inside;
    for (int i = 0; i < count; ++i) sums[i] = above * top[i] + below * bottom[i];
    for (int y = 1; y <= inside; ++y) {
      const uint8_t* const pixels = row(y) + first;
      for (int i = 0; i < count; ++i) sums[i] += pixels[i];
    }
    for (int y = 0; y < height; ++y) {
      const uint8_t* const __restrict__ before = row(y - box.reach - 1) + first;
      const uint8_t* const __restrict__ oldest = row(y - box.reach) + first;
      const uint8_t* const __restrict__ after = row(y + box.reach + 1) + first;
      uint8_t* const __restrict__ means = to + int64_t{y} * width + first;
      for (int i = 0; i < count; ++i) {
        means[i] = box.mean(sums[i], uint32_t{before[i]} + after[i]);
        sums[i] += uint32_t{after[i]} - oldest[i];
      }
    }
  }
}

// All box blurs along columns; the result is in `pixels`, of `scratch` nothing remains.
template <class Blur>
void blur_thrice(std::vector<uint8_t>& pixels, std::vector<uint8_t>& scratch, int height, int width,
                 Box box, const Blur& blur) {
  for (int pass = 0; pass < kPillowPasses; ++pass) {
    blur(pixels.data(), scratch.data(), height, width, box);
    std::swap(pixels, scratch);
  }
}

// Eight rows of eight bytes become columns: exchanges halves, then quarters, then bytes.
void transpose_tile(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride) {
  uint64_t rows[8];
  for (int i = 0; i < 8; ++i) memcpy(&rows[i], from + i * from_stride, 8);
  constexpr uint64_t kLow[] = {0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff};
  for (int step = 0, apart = 4; step < 3; ++step, apart /= 2) {
    for (int i = 0; i < 8; ++i) {
      if ((i & apart) != 0) continue;
      uint64_t &upper = rows[i], &lower = rows[i + apart];
      const uint64_t other = (upper >> (8 * apart) ^ lower) & kLow[step];
      upper ^= other << (8 * apart);
      lower ^= other;
    }
  }
  for (int i = 0; i < 8; ++i) memcpy(to + i * to_stride, &rows[i], 8);
}

void transpose(const uint8_t* from, uint8_t* to, int64_t height, int64_t width) {
  const int64_t whole_height = height / 8 * 8, whole_width = width / 8 * 8;
  for (int64_t y = 0; y < whole_height; y += 8) {
    for (int64_t x = 0; x < whole_width; x += 8)
      transpose_tile(from + y * width + x, width, to + x * height + y, height);
  }
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = y < whole_height ? whole_width : 0; x < width; ++x)
      to[x * height + y] = from[y * width + x];
  }
}

void copy_row(const uint8_t* from, int64_t from_step, uint8_t* to, int64_t to_step, int width) {
  if (from_step == 1 && to_step == 1) {
    memcpy(to, from, width);
  } else {
    for (int x = 0; x < width; ++x) to[x * to_step] = from[x * from_step];
  }
}

template <class Blur>
void blur_channel(const Image<const uint8_t>& from, const Image<uint8_t>& to, int64_t c, Box box,
                  const Blur& blur) {
  const int height = from.height, width = from.width;
  std::vector<uint8_t> pixels(int64_t{height} * width), scratch(pixels.size());
  for (int y = 0; y < height; ++y) {
    copy_row(&from.at(y, 0, c), from.stride_x, pixels.data() + int64_t{y} * width, 1, width);
  }
  transpose(pixels.data(), scratch.data(), height, width);
  blur_thrice(scratch, pixels, width, height, box, blur);
  transpose(scratch.data(), pixels.data(), width, height);
  blur_thrice(pixels, scratch, height, width, box, blur);
  for (int y = 0; y < height; ++y) {
    copy_row(pixels.data() + int64_t{y} * width, 1, &to.at(y, 0, c), to.stride_x, width);
  }
}

}  // namespace

void pillow_blur_cpu(const PillowBlurArguments& a, const ParallelFor& parallel) {
  const Images<const uint8_t> source(a.source);
  const Images<uint8_t> output(a.output);
  const auto blur = compiled_to_avx512<blur_columns>(simd_level());
  int64_t pixels = 1;
  for (int64_t n = 0; n < source.count; ++n) {
    pixels += int64_t{source[n].height} * source[n].width * source.channels * kPixelsPerBlur;
  }
  const int64_t channels = source.count * source.channels;
  parallel(channels, channels * kPixelsPerTask / pixels + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / source.channels;
      blur_channel(source[n], output[n], i % source.channels, Box::of(a.boxes, n), blur);
    }
  });
}

}  // namespace orbbec
