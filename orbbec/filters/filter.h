// filter2d: the sum of a window times a kernel. Included by filter_cpu.cpp, filter_cuda.cu and
// binding.cpp.
#pragma once

#include "window.h"

namespace orbbec {

// A call whose dtype is known only at run time: filled by the binding, read by the dispatch.
struct FilterArguments {
  AnyImages source, output;
  DType dtype;
  Border border;
  Window window;
  const void* kernel;     // [N, height, width] of float, or of double for float64 images
  int64_t kernel_stride;  // elements between the kernels of consecutive images; 0 if all share one
};

// Taps row by row, each fused into the sum. Zero taps are skipped, so that infinities and NaN under
// them have no effect.
template <class T>
struct Filter2d {
  using Value = T;
  using F = Compute<T>;

  FilterArguments arguments;
  Images<const T> source;
  Images<T> output;

  ORBBEC_HD const F* kernel(int64_t n) const {
    return static_cast<const F*>(arguments.kernel) + n * arguments.kernel_stride;
  }

  ORBBEC_HD void operator()(int64_t n, int y, int x, int64_t c) const {
    const Image<const T> image = source[n];
    const Window window = arguments.window;
    const F* tap = kernel(n);
    F sum = 0;
    ORBBEC_ROLLED
    for (int i = 0; i < window.height; ++i) {
      const int row = index_or_outside(y - window.above() + i, image.height, arguments.border);
      ORBBEC_ROLLED
      for (int j = 0; j < window.width; ++j, ++tap) {
        if (*tap == 0) continue;
        const int column = index_or_outside(x - window.before() + j, image.width, arguments.border);
        const F value = row < 0 || column < 0 ? F(0) : load<T>(image.at(row, column, c));
        sum = fused_multiply_add(*tap, value, sum);
      }
    }
    output[n].at(y, x, c) = store<T>(sum);
  }
};

// Calls `launch` with the filter for the dtype.
template <template <class> class Op, class Arguments, class Launch>
auto dispatch_pixels(const Arguments& a, const Launch& launch) {
  return dispatch_any_dtype(a.dtype, [&](auto value) {
    using T = decltype(value);
    return launch(Op<T>{a, Images<const T>(a.source), Images<T>(a.output)});
  });
}

}  // namespace orbbec
