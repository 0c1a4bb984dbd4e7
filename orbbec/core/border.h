// What lies outside an image. The rule of each border is written here once.
#pragma once

#include "common.h"

namespace orbbec {

enum class Border { kConstant, kReplicate, kReflect, kWrap, kReflect101, kTransparent };

// Whether the outside is a value instead of a pixel of the image: the fill, or the previous content
// of the output.
ORBBEC_HD bool outside_is_value(Border border) {
  return border == Border::kConstant || border == Border::kTransparent;
}

// The index inside [0, size) that `index` reads, in closed form; only for borders made of the
// image's own pixels.
ORBBEC_HD int border_index(int index, int size, Border border) {
  if (static_cast<unsigned>(index) < static_cast<unsigned>(size)) return index;
  if (border == Border::kReplicate) return index < 0 ? 0 : size - 1;
  if (size == 1) return 0;
  // Unsigned 32-bit: a period may exceed int, and 64-bit remainders are slow on a GPU.
  const uint32_t length = static_cast<uint32_t>(size);
  const uint32_t seam = border == Border::kReflect101 ? 1 : 0;  // the edge pixel is not repeated
  const uint32_t period = border == Border::kWrap ? length : 2 * (length - seam);
  const uint32_t phase = index >= 0 ? static_cast<uint32_t>(index) % period
                                    : period - 1 - static_cast<uint32_t>(-1 - index) % period;
  return static_cast<int>(phase < length ? phase : period - 1 + seam - phase);
}

}  // namespace orbbec
