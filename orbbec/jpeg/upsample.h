// Upsampled rows of chroma. Included, below the target pragma, by decode_strips.h.
#pragma once

#include "../core/ycc.h"

namespace orbbec {
namespace {  // one copy per target

struct ChromaSize {
  int height, width;
  bool halves_rows, halves_columns;

  // libjpeg does not blend horizontally halved chroma of 2 or fewer columns, nor its rows.
  bool is_blended() const { return !halves_columns || width > 2; }

  // The other row or column that is blended with p / 2 for pixel `p`.
  int other(int p, int size) const {
    const int nearer = p / 2, next = p % 2 == 0 ? nearer - 1 : nearer + 1;
    return !is_blended() || next < 0 || next >= size ? nearer : next;
  }
};

// Sixteen 16-bit numbers as compiler vectors.
typedef uint16_t Numbers __attribute__((vector_size(32)));
constexpr int kNumbers = 16;

ORBBEC_HD Numbers numbers_of(const uint8_t* from) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return __builtin_convertvector(bytes, Numbers);
}

// value(j): the numbers from column j on; blend(own, other, is_odd): a pixel. Columns [first, end)
// of `width`, starting with the pixels of `first`. Writes up to 32 bytes more.
template <class Value, class Blend>
ORBBEC_HD void upsample_columns(int first, int end, int width, uint8_t* to, const Value& value,
                                const Blend& blend) {
  for (int j = first; j < end; j += kNumbers) {
    Numbers nearer = value(j), before = value(j > 0 ? j - 1 : 0), after = value(j + 1);
    if (j == 0) {
      for (int i = kNumbers - 1; i > 0; --i) before[i] = before[i - 1];
      before[0] = nearer[0];
    }
    if (width - 1 - j < kNumbers) after[width - 1 - j] = nearer[width - 1 - j];
    const Numbers even = blend(nearer, before, false), odd = blend(nearer, after, true);
    const Numbers both = even | odd << 8;
    std::memcpy(to + 2 * (j - first), &both, sizeof(both));
  }
}

// `count` pixels of row y from x on; uses `to` only if they are not in memory already. row_at(j):
// row j of chroma, readable for 32 bytes past its width.
template <class Columns, class RowAt>
__attribute__((noinline)) const uint8_t* upsampled_row(const ChromaSize& size, const RowAt& row_at,
                                                       int y, int x, int count, uint8_t* to) {
  const uint8_t* const near = row_at(size.halves_rows ? y / 2 : y);
  if (!size.halves_rows && !size.halves_columns) return near + x;
  if (!size.is_blended()) {
    for (int i = 0; i < count; ++i) to[i] = near[(x + i) / 2];
    return to;
  }
  const uint8_t* const far = size.halves_rows ? row_at(size.other(y, size.height)) : near;
  if (!size.halves_columns) {
    for (int i = 0; i < count; i += kNumbers) {
      const Numbers blended =
          blended_pair(numbers_of(near + x + i), numbers_of(far + x + i), y % 2 != 0);
      typedef uint8_t Bytes __attribute__((vector_size(16)));
      const Bytes bytes = __builtin_convertvector(blended, Bytes);
      std::memcpy(to + i, &bytes, sizeof(bytes));
    }
    return to;
  }
  const int first = x / 2, end = (x + count + 1) / 2;
  if (size.halves_rows) {
    upsample_columns(
        first, end, size.width, to,
        [&](int j) { return blended_rows(numbers_of(near + j), numbers_of(far + j)); },
        [](const Numbers& nearer, const Numbers& other, bool is_odd) {
          return blended_columns(nearer, other, is_odd);
        });
  } else {
    upsample_columns(
        first, end, size.width, to, [&](int j) { return numbers_of(near + j); },
        [](const Numbers& nearer, const Numbers& other, bool is_odd) {
          return blended_pair(nearer, other, is_odd);
        });
  }
  return to + x % 2;
}

}  // namespace
}  // namespace orbbec
