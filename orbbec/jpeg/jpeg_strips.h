// jpeg_compression on the CPU: one row of blocks at a time, in runs of 128 pixels whose planes stay
// in the L1 cache. Included, below the target pragma, by the .cpp files.
#pragma once

#include "columns.h"
#include "targets.h"

namespace orbbec {
namespace {  // one copy per target

constexpr int kRun = 128;  // pixels: whole vectors of blocks, also when halved

template <class Columns>
struct Quantize {
  const Quantizer& table;

  ORBBEC_HD typename Columns::V operator()(int k, const typename Columns::V& v) const {
    return quantized<Columns>(v, Columns::load(table.step + k * kBlockSide),
                              Columns::load(table.reciprocal + k * kBlockSide));
  }
};

using Plane = uint8_t[kBlockSide][kRun];

// Blocks for `count` columns, rounded up to full vectors.
template <class Columns>
void code_plane(Plane& plane, int count, const Quantizer& table) {
  using V = typename Columns::V;
  for (int x = 0; x < count; x += Columns::kLanes) {
    V v[kBlockSide];
    for (int y = 0; y < kBlockSide; ++y) v[y] = Columns::load_bytes(plane[y] + x);
    code_block<Columns>(v, Columns::transpose, Quantize<Columns>{table});
    for (int y = 0; y < kBlockSide; ++y) Columns::store_bytes(plane[y] + x, v[y]);
  }
}

Quantizer quantizer(const JpegArguments& a, int64_t n, int table) {
  const int quality = a.quality_of(n);
  Quantizer result;
  for (int i = 0; i < kCells; ++i) result.set(i, a.step(table, i, quality));
  return result;
}

struct Pixels {
  Plane channel[3];
};

// `count` pixels of a row from x on, extended with the last.
template <int kChannels>
void read_row(const Image<const uint8_t>& image, int64_t y, int64_t x, int count, Pixels& pixels,
              int row) {
  const uint8_t* const from = image.data + y * image.stride_y + x * image.stride_x;
  if (kChannels == 3 && image.stride_x == 3 && image.stride_c == 1) {
    uint8_t *red = pixels.channel[0][row], *green = pixels.channel[1][row],
            *blue = pixels.channel[2][row];
    for (int i = 0; i < count; ++i) {
      red[i] = from[3 * i];
      green[i] = from[3 * i + 1];
      blue[i] = from[3 * i + 2];
    }
  } else {
    for (int c = 0; c < kChannels; ++c) {
      uint8_t* const to = pixels.channel[c][row];
      const uint8_t* const plane = from + c * image.stride_c;
      if (image.stride_x == 1) {
        memcpy(to, plane, count);
      } else {
        for (int i = 0; i < count; ++i) to[i] = plane[i * image.stride_x];
      }
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    uint8_t* const to = pixels.channel[c][row];
    memset(to + count, to[count - 1], kRun - count);
  }
}

template <int kChannels>
void write_row(const Image<uint8_t>& image, int64_t y, int64_t x, int count, const Pixels& pixels,
               int row) {
  uint8_t* const to = image.data + y * image.stride_y + x * image.stride_x;
  if (kChannels == 3 && image.stride_x == 3 && image.stride_c == 1) {
    const uint8_t *red = pixels.channel[0][row], *green = pixels.channel[1][row],
                  *blue = pixels.channel[2][row];
    for (int i = 0; i < count; ++i) {
      to[3 * i] = red[i];
      to[3 * i + 1] = green[i];
      to[3 * i + 2] = blue[i];
    }
    return;
  }
  for (int c = 0; c < kChannels; ++c) {
    const uint8_t* const from = pixels.channel[c][row];
    uint8_t* const plane = to + c * image.stride_c;
    if (image.stride_x == 1) {
      memcpy(plane, from, count);
    } else {
      for (int i = 0; i < count; ++i) plane[i * image.stride_x] = from[i];
    }
  }
}

// Two rows of pixels to one row of each chroma plane, half as wide.
template <class Columns>
void halve_rows(const Pixels& pixels, uint8_t* cb, uint8_t* cr) {
  using V = typename Columns::V;
  alignas(64) int sums[2][kRun];
  for (int i = 0; i < kRun; i += Columns::kLanes) {
    V blue_sum{}, red_sum{};
    for (int row = 0; row < 2; ++row) {
      const V red = Columns::load_bytes(pixels.channel[0][row] + i);
      const V green = Columns::load_bytes(pixels.channel[1][row] + i);
      const V blue = Columns::load_bytes(pixels.channel[2][row] + i);
      blue_sum += cb_of<Columns>(red, green, blue);
      red_sum += cr_of<Columns>(red, green, blue);
    }
    memcpy(sums[0] + i, &blue_sum, sizeof(V));
    memcpy(sums[1] + i, &red_sum, sizeof(V));
  }
  for (int j = 0; j < kRun / 2; ++j) {
    cb[j] = static_cast<uint8_t>(mean_of_four(sums[0][2 * j] + sums[0][2 * j + 1], j));
    cr[j] = static_cast<uint8_t>(mean_of_four(sums[1][2 * j] + sums[1][2 * j + 1], j));
  }
}

// A row of blocks of both chroma planes, starting at row `first`.
template <class Columns>
void chroma_strip(const JpegArguments& a, int64_t n, int64_t first) {
  const Image<const uint8_t> image = a.source[n];
  const ChromaPlanes planes(a, n, image.height, image.width);
  const Quantizer table = quantizer(a, n, 1);
  const int64_t rows = std::min<int64_t>(kBlockSide, planes.height - first);
  alignas(64) Pixels pixels;
  alignas(64) Plane chroma[2];
  for (int64_t x = 0; x < image.width; x += kRun) {
    const int count = static_cast<int>(std::min<int64_t>(kRun, image.width - x));
    const int columns = (count + 1) / 2;
    for (int y = 0; y < kBlockSide; ++y) {
      const int64_t above = 2 * std::min<int64_t>(first + y, planes.height - 1);
      read_row<3>(image, above, x, count, pixels, 0);
      read_row<3>(image, std::min<int64_t>(above + 1, image.height - 1), x, count, pixels, 1);
      halve_rows<Columns>(pixels, chroma[0][y], chroma[1][y]);
    }
    for (int plane = 0; plane < 2; ++plane) {
      code_plane<Columns>(chroma[plane], columns, table);
      for (int y = 0; y < rows; ++y) {
        memcpy(planes.row(plane, first + y) + x / 2, chroma[plane][y], columns);
      }
    }
  }
}

// `count` pixels of row y from x on, upsampled from a chroma plane. x is even.
void upsample_row(const ChromaPlanes& planes, int plane, int64_t y, int64_t x, int count,
                  uint8_t* to) {
  const uint8_t* const near = planes.row(plane, y / 2);
  const uint8_t* const far = planes.row(plane, planes.other_row(y));
  const int columns = (count + 1) / 2;
  uint16_t blended[kRun / 2 + 2];  // and one column on either side
  const int64_t first = x / 2;
  const int64_t before = planes.other_column(x);
  const auto blend = [&](int64_t j) { return static_cast<uint16_t>(blend_rows(near[j], far[j])); };
  blended[0] = blend(before);
  for (int j = 0; j < columns; ++j) blended[j + 1] = blend(first + j);
  const int64_t after = planes.other_column(2 * (first + columns - 1) + 1);
  blended[columns + 1] = blend(after);
  if (planes.width <= 2) {  // not blended
    for (int i = 0; i < count; ++i) to[i] = near[first + i / 2];
    return;
  }
  for (int j = 0; j < columns; ++j) {
    to[2 * j] = static_cast<uint8_t>(blend_columns(blended[j + 1], blended[j], 0));
    to[2 * j + 1] = static_cast<uint8_t>(blend_columns(blended[j + 1], blended[j + 2], 1));
  }
}

template <class Columns>
void to_luma(Pixels& pixels, int row, bool with_chroma) {
  using V = typename Columns::V;
  uint8_t *first = pixels.channel[0][row], *second = pixels.channel[1][row],
          *third = pixels.channel[2][row];
  for (int i = 0; i < kRun; i += Columns::kLanes) {
    const V red = Columns::load_bytes(first + i), green = Columns::load_bytes(second + i);
    const V blue = Columns::load_bytes(third + i);
    Columns::store_bytes(first + i, luma_of<Columns>(red, green, blue));
    if (!with_chroma) continue;
    Columns::store_bytes(second + i, cb_of<Columns>(red, green, blue));
    Columns::store_bytes(third + i, cr_of<Columns>(red, green, blue));
  }
}

template <class Columns>
void to_colors(Pixels& pixels, int row) {
  uint8_t *first = pixels.channel[0][row], *second = pixels.channel[1][row],
          *third = pixels.channel[2][row];
  for (int i = 0; i < kRun; i += Columns::kLanes) {
    const auto color =
        color_of<Columns>(Columns::load_bytes(first + i), Columns::load_bytes(second + i),
                          Columns::load_bytes(third + i));
    Columns::store_bytes(first + i, color.red);
    Columns::store_bytes(second + i, color.green);
    Columns::store_bytes(third + i, color.blue);
  }
}

// A row of blocks of the image, starting at row `first`.
template <class Columns, int kChannels>
void image_strip(const JpegArguments& a, int64_t n, int64_t first) {
  const Image<const uint8_t> image = a.source[n];
  const Image<uint8_t> output = a.output[n];
  const ChromaPlanes planes(a, n, image.height, image.width);
  const bool halved = a.subsampling == Subsampling::k420;
  const Quantizer tables[2] = {quantizer(a, n, 0), quantizer(a, n, 1)};
  const int64_t rows = std::min<int64_t>(kBlockSide, image.height - first);
  alignas(64) Pixels pixels;
  for (int64_t x = 0; x < image.width; x += kRun) {
    const int count = static_cast<int>(std::min<int64_t>(kRun, image.width - x));
    for (int y = 0; y < kBlockSide; ++y) {
      read_row<kChannels>(image, std::min<int64_t>(first + y, image.height - 1), x, count, pixels,
                          y);
      if (kChannels == 3) to_luma<Columns>(pixels, y, !halved);
    }
    for (int c = 0; c < (kChannels == 3 && !halved ? 3 : 1); ++c) {
      code_plane<Columns>(pixels.channel[c], count, tables[c > 0]);
    }
    for (int y = 0; y < rows; ++y) {
      if (kChannels == 3 && halved) {
        for (int c = 0; c < 2; ++c) {
          upsample_row(planes, c, first + y, x, count, pixels.channel[c + 1][y]);
        }
      }
      if (kChannels == 3) to_colors<Columns>(pixels, y);
      write_row<kChannels>(output, first + y, x, count, pixels, y);
    }
  }
}

template <class Columns>
void compress(const JpegArguments& a, const ParallelFor& parallel) {
  if (a.source.channels == 1) {
    for_each_strip_cpu(a.source, kBlockSide, parallel,
                       [&](int64_t n, int first) { image_strip<Columns, 1>(a, n, first); });
    return;
  }
  if (a.subsampling == Subsampling::k420) {
    for_each_strip_cpu(a.source, 2 * kBlockSide, parallel,
                       [&](int64_t n, int first) { chroma_strip<Columns>(a, n, first / 2); });
  }
  for_each_strip_cpu(a.source, kBlockSide, parallel,
                     [&](int64_t n, int first) { image_strip<Columns, 3>(a, n, first); });
}

}  // namespace
}  // namespace orbbec
