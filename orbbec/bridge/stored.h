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
  check(forms.dim() == 2 && forms.size(0) == stored.count && forms.size(1) == 2, op,
        "expected forms of shape [", stored.count, ", 2], but got ", shape_text(forms));
  check(forms.scalar_type() == ScalarType::Long && forms.is_contiguous(), op,
        "expected forms as contiguous int64");
  check(same_device(forms, planes), op, "expected forms on the device of the images");
  return {Images<const uint8_t>(stored), static_cast<const int64_t*>(forms.const_data_ptr())};
}

}  // namespace orbbec
