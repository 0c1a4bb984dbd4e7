// A faster way to read the columns of a row of bytes, of packed RGB or of planes, which a SIMD
// level may have: see permuted_columns.h. Included by scaled_rows.h.
#pragma once

#include <cstdint>

namespace orbbec {

template <class Simd>
struct PackedColumns {
  // `offsets`: the byte of the left pixel of each column. False where the pixels are loaded one by
  // one instead.
  bool set(const int*, int, int) { return false; }
  // Blend each pixel with its right neighbor; `nbytes` follow `pixels`. Channels are `channel`
  // floats apart.
  void blend_rgb(const uint8_t*, int64_t, const float*, float*, int64_t) const {}
  void blend_plane(const uint8_t*, int64_t, const float*, float*) const {}
};

}  // namespace orbbec
