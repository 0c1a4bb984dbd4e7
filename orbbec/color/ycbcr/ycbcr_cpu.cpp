// ycbcr_to_rgb on the CPU: a second executor of the arithmetic, in runs of a row whose upsampled
// chroma stays in the L1 cache; its loops are vectorized for each target.
#include "../../executors/strips_cpu.h"
#include "ycbcr.h"

namespace orbbec {
namespace {

constexpr int kRun = 512;  // pixels; as those of a box, runs begin with a chroma column
constexpr int kRows = 16;  // per task

using Run = uint8_t[kRun];

// Horizontally halved chroma: `value(j)` is column j, `blend(own, other, parity)` a pixel.
template <class Value, class Blend>
ORBBEC_HD void upsample_columns(const StoredImage& image, int x, int count, const Value& value,
                                const Blend& blend, Run& to) {
  const int first = x / 2, columns = (count + 1) / 2, width = image.chroma_width;
  uint16_t values[kRun / 2 + 2];  // and one column on either side
  for (int j = 0; j < columns; ++j) values[j + 1] = static_cast<uint16_t>(value(first + j));
  values[0] = static_cast<uint16_t>(value(image.other(x, width)));
  values[columns + 1] = static_cast<uint16_t>(value(image.other(x + 2 * columns - 1, width)));
  for (int j = 0; j < columns; ++j) {
    to[2 * j] = static_cast<uint8_t>(blend(values[j + 1], values[j], 0));
    to[2 * j + 1] = static_cast<uint8_t>(blend(values[j + 1], values[j + 2], 1));
  }
}

// Vertically halved chroma. `to` does not alias, so that the loop is vectorized.
ORBBEC_HD void blend_rows_of(const uint8_t* near, const uint8_t* far, int y, int count,
                             uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(blend_pair(near[i], far[i], y));
}

// `count` pixels of row y from x on of a chroma plane, upsampled to `scratch` if it is halved.
ORBBEC_HD const uint8_t* chroma_run(const StoredImage& image, int plane, int y, int x, int count,
                                    Run& scratch) {
  const bool rows = image.halves_rows, columns = image.halves_columns;
  const uint8_t* const near = image.chroma_row(plane, rows ? y / 2 : y);
  if (!rows && !columns) return near + x;
  if (!image.is_blended()) {
    for (int i = 0; i < count; ++i) scratch[i] = near[(x + i) / 2];
    return scratch;
  }
  const auto pair = [](int nearer, int other, int index) {
    return blend_pair(nearer, other, index);
  };
  if (!rows) {
    upsample_columns(image, x, count, [=](int j) { return near[j]; }, pair, scratch);
    return scratch;
  }
  const uint8_t* const far = image.chroma_row(plane, image.other(y, image.chroma_height));
  if (!columns) {
    blend_rows_of(near + x, far + x, y, count, scratch);
    return scratch;
  }
  upsample_columns(
      image, x, count, [=](int j) { return blend_rows(near[j], far[j]); },
      [](int nearer, int other, int index) { return blend_columns(nearer, other, index); },
      scratch);
  return scratch;
}

// Interleaves three runs of bytes.
ORBBEC_HD void write(const Image<uint8_t>& to, int y, int x, int count, const uint8_t* red,
                     const uint8_t* green, const uint8_t* blue) {
  uint8_t* const pixel = &to.at(y, x, 0);
  if (to.stride_x == 3) {
    for (int i = 0; i < count; ++i) {
      pixel[3 * i] = red[i];
      pixel[3 * i + 1] = green[i];
      pixel[3 * i + 2] = blue[i];
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    pixel[i * to.stride_x] = red[i];
    pixel[i * to.stride_x + 1] = green[i];
    pixel[i * to.stride_x + 2] = blue[i];
  }
}

ORBBEC_HD void convert_run(const StoredImage& image, const Image<uint8_t>& to, int y, int x,
                           int count) {
  alignas(64) Run upsampled[2];
  alignas(64) Run colors[3];
  const uint8_t* const luma = image.luma_row(y) + x;
  if (image.subsampling == Subsampling::kGray) return write(to, y, x, count, luma, luma, luma);
  const uint8_t* const cb = chroma_run(image, 0, y, x, count, upsampled[0]);
  const uint8_t* const cr = chroma_run(image, 1, y, x, count, upsampled[1]);
  for (int i = 0; i < count; ++i) {
    const Color<int> color = color_of<OneColumn, int>(luma[i], cb[i], cr[i]);
    colors[0][i] = static_cast<uint8_t>(color.red);
    colors[1][i] = static_cast<uint8_t>(color.green);
    colors[2][i] = static_cast<uint8_t>(color.blue);
  }
  write(to, y, x, count, colors[0], colors[1], colors[2]);
}

ORBBEC_HD void convert_row(const StoredImage& image, const Image<uint8_t>& to, int y, int left,
                           int right) {
  if (image.subsampling == Subsampling::kRgb) {
    const uint8_t* const pixels = image.data + int64_t{y} * image.width * 3;
    for (int x = left; x < right; ++x) {
      for (int c = 0; c < 3; ++c) to.at(y, x, c) = pixels[int64_t{x} * 3 + c];
    }
    return;
  }
  for (int64_t x = left; x < right; x += kRun) {
    const int count = static_cast<int>(std::min<int64_t>(kRun, right - x));
    convert_run(image, to, y, static_cast<int>(x), count);
  }
}

}  // namespace

void ycbcr_to_rgb_cpu(const YcbcrToRgb& op, const ParallelFor& parallel) {
  const auto row = compiled_to_avx512<convert_row>(simd_level());
  for_each_strip_cpu(op.stored.planes, kRows, parallel, [&](int64_t n, int first) {
    const StoredImage image = op.stored[n];
    const Image<uint8_t> to = op.index(n, image);
    const StoredBox box = op.box(n, to);
    const int last = static_cast<int>(std::min<int64_t>(int64_t{first} + kRows, box.bottom));
    for (int y = std::max(first, box.top); y < last; ++y) row(image, to, y, box.left, box.right);
  });
}

}  // namespace orbbec
