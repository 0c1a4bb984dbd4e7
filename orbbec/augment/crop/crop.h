// augment of crops that are resized: what `resized_crop` would give, `augment` processes while it
// is in cache or in registers. Included by crop_cpu.cpp, crop_cuda.cu and binding.cpp.
#pragma once

#include "../../resize/resize.h"
#include "../augment.h"

namespace orbbec {

struct AugmentCropArguments {
  // The output of `resize` is the source of `augment`: dense bytes. Its memory is null where
  // threads have the memory of an image each.
  ResizeArguments resize;
  AugmentArguments augment;

  // The same with crops in memory; image n of them is at `first` + n * stride_n.
  AugmentCropArguments with_crops(void* first) const {
    AugmentCropArguments a = *this;
    a.resize.output.data = a.augment.warp.source.data = first;
    return a;
  }
};

}  // namespace orbbec
