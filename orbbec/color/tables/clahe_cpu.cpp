#include <algorithm>

#include "../rows_cpu.h"
#include "clahe.h"
#include "count_bytes_cpu.h"

namespace orbbec {

namespace {

// Columns [left, left + width) of a row, reflected at the end of the image.
ORBBEC_HD void count_columns(const Image<const uint8_t>& image, int y, int64_t c, int left,
                             int width, Counts& counts) {
  const int right = left + width, end = clamp_int(image.width, left, right);
  if (image.stride_x == 1) {
    count_bytes(&image.at(y, left, c), end - left, counts);
  } else {
    for (int x = left; x < end; ++x) ++counts[x % kCopies][image.at(y, x, c)];
  }
  for (int x = end; x < right; ++x)
    ++counts[0][image.at(y, ClaheLuts::reflected(x, image.width), c)];
}

// `job` counts the channels of all images.
ORBBEC_HD void make_lut(const ClaheLuts& op, int64_t job, int tile) {
  const int64_t n = job / op.source.channels, c = job % op.source.channels;
  const Image<const uint8_t> image = op.source[n];
  if (image.height < 1 || image.width < 1) return;
  const Tiles size(image, op.tiles_y, op.tiles_x);
  const int top = tile / op.tiles_x * size.height, left = tile % op.tiles_x * size.width;
  Counts counts = {};
  for (int y = top; y < top + size.height; ++y)
    count_columns(image, ClaheLuts::reflected(y, image.height), c, left, size.width, counts);
  int histogram[kLevels];
  for (int v = 0; v < kLevels; ++v) histogram[v] = static_cast<int>(count_of(counts, v));
  const int area = size.height * size.width;
  ClaheLuts::clip(histogram, ClaheLuts::most_of(area, op.clip_limit.of(n)));
  ClaheLuts::write_lut(histogram, area, op.luts + (job * op.tiles_y * op.tiles_x + tile) * kLevels);
}

// An axis, cut at the centers of its tiles.
struct CutAxis {
  int size, tile, tiles;

  ORBBEC_HD ClaheBlend::Between at(int p) const { return ClaheBlend::between(p, tile, tiles); }

  ORBBEC_HD int begin(int cell) const {
    const double center = (cell - 0.5) * tile;
    int p = center < 0 ? 0 : center < size ? static_cast<int>(center) : size;
    while (p > 0 && at(p - 1).cell >= cell) --p;
    while (p < size && at(p).cell < cell) ++p;
    return p;
  }
};

// The pixels between four tile centers, whose lookup tables are one table of four bytes.
ORBBEC_HD void blend_cell(const ClaheBlend& op, int64_t job, int cell) {
  const int64_t n = job / op.output.channels, c = job % op.output.channels;
  const Image<const uint8_t> from = op.source[n];
  const Image<uint8_t> to = op.output[n];
  if (!is_readable(from, to) || from.height < 1 || from.width < 1) return;
  const Tiles size(from, op.tiles_y, op.tiles_x);
  const CutAxis rows{from.height, size.height, op.tiles_y};
  const CutAxis columns{from.width, size.width, op.tiles_x};
  const int cell_y = cell / (op.tiles_x + 1), cell_x = cell % (op.tiles_x + 1);
  const int top = rows.begin(cell_y), bottom = rows.begin(cell_y + 1);
  const int left = columns.begin(cell_x), right = columns.begin(cell_x + 1);
  if (top >= bottom || left >= right) return;

  const uint8_t* const luts = op.luts + job * op.tiles_y * op.tiles_x * kLevels;
  const auto lut = [&](int tile_y, int tile_x) {
    return luts + (tile_y * op.tiles_x + tile_x) * kLevels;
  };
  const ClaheBlend::Between down = rows.at(top), across = columns.at(left);
  const uint8_t* const tiles[] = {lut(down.before, across.before), lut(down.before, across.after),
                                  lut(down.after, across.before), lut(down.after, across.after)};
  uint32_t corners[kLevels];
  for (int v = 0; v < kLevels; ++v) {
    corners[v] = tiles[0][v] | tiles[1][v] << 8 | tiles[2][v] << 16 | uint32_t{tiles[3][v]} << 24;
  }

  alignas(64) uint8_t levels[kBlockPixels], blended[kBlockPixels];
  alignas(64) float weights[kBlockPixels];
  alignas(64) uint32_t words[kBlockPixels] = {};
  for (int x = left; x < right; x += kBlockPixels) {
    const int count = std::min(right - x, kBlockPixels);
    for (int i = 0; i < kBlockPixels; ++i) weights[i] = columns.at(x + i).weight;
    for (int y = top; y < bottom; ++y) {
      const ClaheBlend::Weights<> of_rows(rows.at(y).weight);
      read_plane(&from.at(y, x, c), from.stride_x, levels, count);
      for (int i = 0; i < count; ++i) words[i] = corners[levels[i]];
      for (int i = 0; i < count; ++i) {
        const int word = static_cast<int>(words[i]);
        const float values[] = {static_cast<float>(word & 255), static_cast<float>(word >> 8 & 255),
                                static_cast<float>(word >> 16 & 255),
                                static_cast<float>(word >> 24 & 255)};
        blended[i] =
            store<uint8_t>(ClaheBlend::blended(values, ClaheBlend::Weights<>(weights[i]), of_rows));
      }
      write_plane(blended, &to.at(y, x, c), to.stride_x, count);
    }
  }
}

}  // namespace

void clahe_cpu(const ClaheArguments& a, const ParallelFor& parallel) {
  const int64_t pixels_of_tile =
      int64_t{1} + a.output.height / a.tiles_y * (a.output.width / a.tiles_x);
  const int64_t jobs = a.source.count * a.source.channels;
  const ClaheLuts luts(a);
  const auto make = compiled_to_avx512<make_lut>(simd_level());
  for_each_row_cpu(jobs, a.tiles_y * a.tiles_x, pixels_of_tile, parallel,
                   [&](int64_t job, int tile) { make(luts, job, tile); });
  const ClaheBlend blend(a);
  const auto run = compiled_to_avx512<blend_cell>(simd_level());
  for_each_row_cpu(jobs, (a.tiles_y + 1) * (a.tiles_x + 1), pixels_of_tile, parallel,
                   [&](int64_t job, int cell) { run(blend, job, cell); });
}

}  // namespace orbbec
