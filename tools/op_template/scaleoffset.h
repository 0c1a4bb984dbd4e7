// scale_offset: scales each pixel by its image's factor and adds its image's offset. Included by
// scaleoffset_cpu.cpp, scaleoffset_cuda.cu and binding.cpp.
#pragma once

#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

// A call whose dtype is known only at run time: filled by the binding, read by the dispatch.
struct ScaleOffsetArguments {
  AnyImages source, output;
  DType dtype;
  const float* scale;   // [N]
  const float* offset;  // [N]
};

// The arithmetic of a pixel, written once for every device.
template <class T>
struct ScaleOffset {
  Images<const T> source;
  Images<T> output;
  const float* scale;
  const float* offset;

  explicit ScaleOffset(const ScaleOffsetArguments& a)
      : source(a.source), output(a.output), scale(a.scale), offset(a.offset) {}

  ORBBEC_HD void operator()(int64_t n, int y, int x) const {
    const Image<const T> from = source[n];
    const Image<T> to = output[n];
    for (int64_t c = 0; c < output.channels; ++c) {
      to.at(y, x, c) = store<T>(load<T>(from.at(y, x, c)) * scale[n] + offset[n]);
    }
  }
};

// Calls `launch` with the functor for the dtype, which the binding has checked.
template <class Launch>
int dispatch_scale_offset(const ScaleOffsetArguments& a, const Launch& launch) {
  if (a.dtype == DType::kUInt8) return launch(ScaleOffset<uint8_t>(a));
  return launch(ScaleOffset<float>(a));
}

}  // namespace orbbec
