// ycbcr_to_rgb on CUDA: upright images are converted and stored in words.
#include "../../executors/cuda/bytes.h"
#include "../../executors/cuda/tiles.h"
#include "ycbcr.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kPixels = YcbcrToRgb::kStep;  // of a thread, in a row
constexpr int kSegment = kPixels * kWarp;   // pixels of a warp, in a row
constexpr int kSegmentWords = 3 * kSegment / 4;
constexpr int kColumns = 4;  // of chroma, which 4 pixels read

// Four columns of chroma, of at least four: `selector` repeats those at the borders.
struct ChromaColumns {
  int first;
  unsigned selector;

  __device__ __forceinline__ ChromaColumns(int begin, int width) {
    const int last = width - kColumns;
    first = begin < 0 ? 0 : begin > last ? last : begin;
    const int skipped = begin - first;
    selector = skipped < 0    ? 0x2100
               : skipped == 0 ? 0x3210
               : skipped == 1 ? 0x3321
               : skipped == 2 ? 0x3332
                              : 0x3333;
  }

  __device__ __forceinline__ uint32_t load(const uint8_t* row) const {
    return __byte_perm(load_word(row + first), 0, selector);
  }
};

// Chroma of 4 pixels of row y from x on.
__device__ __forceinline__ void load_chroma(const StoredImage& image, int plane, int y, int x,
                                            int (&values)[kPixels]) {
  const bool rows = image.halves_rows != 0, columns = image.halves_columns != 0;
  const ChromaColumns read(columns ? x / 2 - 1 : x, image.chroma_width);
  const uint32_t near = read.load(image.chroma_row(plane, rows ? y / 2 : y));
  const uint32_t far =
      rows ? read.load(image.chroma_row(plane, image.other(y, image.chroma_height))) : near;
  int blended[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int a = static_cast<int>(byte_of(near, i)), b = static_cast<int>(byte_of(far, i));
    blended[i] = !rows ? a : columns ? blend_rows(a, b) : blend_pair(a, b, y);
  }
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const int nearer = blended[1 + i / 2], next = blended[i % 2 == 0 ? i / 2 : 2 + i / 2];
    values[i] = !columns ? blended[i]
                : rows   ? blend_columns(nearer, next, i)
                         : blend_pair(nearer, next, i);
  }
}

// Whether `convert` may read words of its planes.
__device__ __forceinline__ bool has_words(const StoredImage& image) {
  return image.subsampling >= Subsampling::k444 && image.chroma_width >= kColumns;
}

// The RGB bytes of 4 pixels of a row from x on.
__device__ __forceinline__ void convert(const StoredImage& image, int y, int x,
                                        uint32_t (&words)[3]) {
  int cb[kPixels], cr[kPixels];
  load_chroma(image, 0, y, x, cb);
  load_chroma(image, 1, y, x, cr);
  const uint32_t luma = load_word(image.luma_row(y) + x);
  Color<int> colors[kPixels];
#pragma unroll
  for (int i = 0; i < kPixels; ++i)
    colors[i] = color_of<OneColumn, int>(static_cast<int>(byte_of(luma, i)), cb[i], cr[i]);
  const auto byte = [&](int i) {
    const Color<int>& color = colors[i / 3];
    return static_cast<uint32_t>(i % 3 == 0 ? color.red : i % 3 == 1 ? color.green : color.blue);
  };
#pragma unroll
  for (int i = 0; i < 3; ++i)
    words[i] = pack_bytes(byte(4 * i), byte(4 * i + 1), byte(4 * i + 2), byte(4 * i + 3));
}

// Stores the bytes of a segment at any address: all but the ends as aligned words.
__device__ __forceinline__ void store_bytes(const uint32_t* words, int bytes, uint8_t* to) {
  const int skip = static_cast<int>(reinterpret_cast<uintptr_t>(to) & 3);
  for (int i = lane_id(); 4 * i < skip + bytes; i += kWarp) {
    const int first = 4 * i - skip;  // byte of the segment
    const uint32_t before = i > 0 ? words[i - 1] : 0, here = i < kSegmentWords ? words[i] : 0;
    const uint32_t word = skip == 0 ? here : __funnelshift_r(before, here, 32 - 8 * skip);
    if (first >= 0 && first + 4 <= bytes) {
      *reinterpret_cast<uint32_t*>(to + first) = word;
    } else {
      for (int b = 0; b < 4; ++b)
        if (first + b >= 0 && first + b < bytes)
          to[first + b] = static_cast<uint8_t>(word >> 8 * b);
    }
  }
}

// A warp owns every gridDim.x * 8-th segment of 128 pixels of a row, a thread 4 of them. Each byte
// of luma is read once, of chroma by up to three rows, from L1. Shared memory: 3 KiB.
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, 64))
    ycbcr_to_rgb_kernel(const YcbcrToRgb op) {
  __shared__ uint32_t staged[kWarps][kSegmentWords];
  uint32_t* const words = staged[warp_id()];
  for (int64_t n = blockIdx.y; n < op.output.count; n += gridDim.y) {
    const StoredImage image = op.stored[n];
    const Image<uint8_t> to = op.index(n, image);
    const bool is_upright = op.stored.orientation(n) == 1 && has_words(image);
    const StoredBox box = op.box(n, to);
    const int across = larger(box.right - box.left + kSegment - 1, 0) / kSegment;
    const int64_t segments = int64_t{larger(box.bottom - box.top, 0)} * across;
    for (int64_t s = int64_t{blockIdx.x} * kWarps + warp_id(); s < segments;
         s += int64_t{gridDim.x} * kWarps) {
      const Position at = position_of(s, across);
      const int y = box.top + at.y, left = box.left + at.x * kSegment;
      const int x = left + lane_id() * kPixels;
      if (is_upright) {
        uint32_t pixels[3] = {};
        if (x < box.right) convert(image, y, x, pixels);
#pragma unroll
        for (int i = 0; i < 3; ++i) words[3 * lane_id() + i] = pixels[i];
        __syncwarp();
        const int count = smaller(box.right - left, kSegment);
        store_bytes(words, 3 * count, &to.at(y, left, 0));
        __syncwarp();
      } else {
        for (int i = x; i < smaller(x + kPixels, box.right); ++i) op(n, y, i);
      }
    }
  }
}

}  // namespace

int ycbcr_to_rgb_cuda(const YcbcrToRgb& op, void* stream) {
  return launch(ycbcr_to_rgb_kernel, image_grid(op.output.count), dim3(kThreads), 0, stream, op);
}

}  // namespace orbbec
