// Arguments of bindings that take images stored as JPEG planes. Included by color/ycbcr/ and
// augment/.
#pragma once

#include "../core/stored_image.h"
#include "images.h"

namespace orbbec {

// Flat planes, their table [N, 3] of offset, stored height and stored width, and [N, 2] of
// subsampling and orientation.
inline StoredImages stored_images(const char* op, const Tensor& planes, const Tensor& layout,
                                  const Tensor& forms) {
  const AnyImages stored = ragged_images(op, planes, layout, 1);
  return {Images<const uint8_t>(stored),
          check_table<int64_t>(op, "forms", forms, {stored.count, 2}, planes)};
}

}  // namespace orbbec
