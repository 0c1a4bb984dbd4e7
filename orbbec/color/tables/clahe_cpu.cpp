#include <vector>

#include "../rows_cpu.h"
#include "clahe.h"
#include "count_bytes_cpu.h"

namespace orbbec {

namespace {

constexpr int kStripRows = 32;

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

// What the rows of an image have in common.
struct BlendTables {
  std::vector<float> weights;     // of each column
  std::vector<int> begins;        // of the cells of a row
  std::vector<uint32_t> corners;  // [cells, 256]: the four lookup tables around a cell as bytes
};

// The tables of a row of cells; `luts` are those of a channel.
ORBBEC_HD void set_corners(const uint8_t* luts, const ClaheBlend::Between& down, int tiles_x,
                           uint32_t* corners) {
  const auto lut = [&](int tile_y, int tile_x) {
    return luts + (tile_y * tiles_x + tile_x) * kLevels;
  };
  for (int cell = 0; cell <= tiles_x; ++cell, corners += kLevels) {
    const int before = larger(cell - 1, 0), after = smaller(cell, tiles_x - 1);
    const uint8_t *const upper_left = lut(down.before, before),
                         *const upper_right = lut(down.before, after),
                         *const lower_left = lut(down.after, before),
                         *const lower_right = lut(down.after, after);
    for (int v = 0; v < kLevels; ++v) {
      corners[v] = upper_left[v] | upper_right[v] << 8 | lower_left[v] << 16 |
                   uint32_t{lower_right[v]} << 24;
    }
  }
}

// Channel c of rows [top, bottom): a level is looked up in the four tables at once.
ORBBEC_HD void blend_rows(const ClaheBlend& op, int64_t n, int64_t c, int top, int bottom,
                          BlendTables& tables) {
  const Image<const uint8_t> from = op.source[n];
  const Image<uint8_t> to = op.output[n];
  const CutAxis rows{from.height, Tiles(from, op.tiles_y, op.tiles_x).height, op.tiles_y};
  const uint8_t* const luts =
      op.luts + (n * op.output.channels + c) * op.tiles_y * op.tiles_x * kLevels;
  alignas(64) uint8_t levels[kBlockPixels], blended[kBlockPixels];
  alignas(64) uint32_t words[kBlockPixels] = {};
  for (int y = top, cell_y = -1; y < bottom; ++y) {
    const ClaheBlend::Between down = rows.at(y);
    if (down.cell != cell_y) set_corners(luts, down, op.tiles_x, tables.corners.data());
    cell_y = down.cell;
    const ClaheBlend::Weights<> of_rows(down.weight);
    for (int cell = 0; cell <= op.tiles_x; ++cell) {
      const uint32_t* const corners = tables.corners.data() + cell * kLevels;
      for (int x = tables.begins[cell]; x < tables.begins[cell + 1]; x += kBlockPixels) {
        const int count = smaller(tables.begins[cell + 1] - x, kBlockPixels);
        const float* const weights = tables.weights.data() + x;
        read_plane(&from.at(y, x, c), from.stride_x, levels, count);
        for (int i = 0; i < count; ++i) words[i] = corners[levels[i]];
        for (int i = 0; i < count; ++i) {
          const int word = static_cast<int>(words[i]);
          const float values[] = {
              static_cast<float>(word & 255), static_cast<float>(word >> 8 & 255),
              static_cast<float>(word >> 16 & 255), static_cast<float>(word >> 24 & 255)};
          blended[i] = store<uint8_t>(
              ClaheBlend::blended(values, ClaheBlend::Weights<>(weights[i]), of_rows));
        }
        write_plane(blended, &to.at(y, x, c), to.stride_x, count);
      }
    }
  }
}

void blend_strip(const ClaheBlend& op, int64_t n, int top) {
  const Image<const uint8_t> from = op.source[n];
  if (!is_readable(from, op.output[n])) return;
  const int width = Tiles(from, op.tiles_y, op.tiles_x).width;
  const CutAxis columns{from.width, width, op.tiles_x};
  BlendTables tables{std::vector<float>(from.width), std::vector<int>(op.tiles_x + 2),
                     std::vector<uint32_t>(size_t{kLevels} * (op.tiles_x + 1))};
  for (int x = 0; x < from.width; ++x) tables.weights[x] = columns.at(x).weight;
  for (int cell = 0; cell < op.tiles_x + 2; ++cell) tables.begins[cell] = columns.begin(cell);
  const auto rows = compiled_to_avx512<blend_rows>(simd_level());
  const int bottom = smaller(top + kStripRows, from.height);
  for (int64_t c = 0; c < op.output.channels; ++c) rows(op, n, c, top, bottom, tables);
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
  for_each_strip_cpu(blend.output, kStripRows, parallel,
                     [&](int64_t n, int top) { blend_strip(blend, n, top); });
}

}  // namespace orbbec
