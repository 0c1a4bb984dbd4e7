#include "bands_cuda.h"
#include "resize_backward.h"
#include "windows_cuda.h"

namespace orbbec {
namespace {

// What is known of the taps per axis without the sizes: two, or two, four or eight.
template <class Form>
constexpr bool kHasTwoTaps = std::is_same_v<Form, FixedLinear>;
template <class T>
constexpr bool kHasTwoTaps<ExactLinear<T>> = true;
template <class Form>
constexpr bool kIsFloatTaps = false;
template <class T>
constexpr bool kIsFloatTaps<FloatTaps<T>> = true;

// As many columns as a block can have, and rows of them if these are few.
inline dim3 columns_block(const AnyImages& output, int lanes) {
  const unsigned columns = columns_per_block(int64_t{output.width} * lanes, kBandThreads);
  unsigned rows = 1;
  while (rows < kMaxThreadRows && 2 * rows * columns <= kBandThreads) rows *= 2;
  return dim3(columns, rows);
}

template <class T>
int launch_resize(const ResizeNearest<T>& op, ResizeMethod, void* stream) {
  const int lanes = lanes_of(op.output);
  const dim3 block = columns_block(op.output, lanes);
  return launch(resize_nearest_kernel<T>, band_grid(op.output, lanes, block), block, 0, stream, op,
                lanes);
}

template <class Op>
int launch_two_taps(const Op& op, void* stream) {
  const int lanes = lanes_of(op.output);
  const dim3 block = columns_block(op.output, lanes);
  return launch(resize_two_taps_kernel<Op>, band_grid(op.output, lanes, block), block, 0, stream,
                op, lanes);
}

template <class Op>
int launch_windows(const Op& op, void* stream) {
  const int lanes = lanes_of(op.output);
  const dim3 block = whole_warps(op.output, lanes, kBandThreads);
  return launch(resize_windows_kernel<Op>, band_grid(op.output, lanes, block, kWindowRows), block,
                0, stream, op, lanes);
}

template <int kChannels, class Op>
int launch_bands_of(const Op& op, int lanes, void* stream) {
  constexpr int64_t kMaxRingBytes = 32 * 1024;  // six blocks fit a multiprocessor
  const BandLaunch bands = band_launch<kChannels>(op, lanes, kBandRows, kWarp, kMaxRingBytes);
  return launch(resize_bands_kernel<Op, kChannels>, bands.grid, bands.block, bands.ring_bytes,
                stream, op, lanes, bands.ring_rows);
}

template <class Op>
int launch_bands(const Op& op, ResizeMethod method, void* stream) {
  if constexpr (std::is_same_v<typename Op::Value, uint8_t>) {
    if (reads_words(op, method)) return launch_bands_of<kPixelBytes>(op, kPixelBytes, stream);
  }
  return launch_bands_of<1>(op, lanes_of(op.output), stream);
}

template <class T, class Form>
int launch_resize(const Resize<T, Form>& op, ResizeMethod method, void* stream) {
  if constexpr (kHasTwoTaps<Form>) {
    return launch_two_taps(op, stream);
  } else if constexpr (kAddsInOrder<Form>) {
    return launch_bands(op, method, stream);
  } else {
    if constexpr (kIsFloatTaps<Form>) {
      if (op.coefficients.taps_y <= 2) return launch_two_taps(op, stream);
    }
    return launch_windows(op, stream);
  }
}

}  // namespace

int fill_resize_coefficients_cuda(const ResizeArguments& a, void* stream) {
  const int items = static_cast<int>(FillResizeCoefficients::items(a.request));
  return for_each_item_cuda(FillResizeCoefficients(a.request, a.coefficients), a.coefficients.sets,
                            items, stream);
}

int resize_cuda(const ResizeArguments& a, void* stream) {
  return dispatch_resize(
      a, [&](const auto& op) { return launch_resize(op, a.request.method, stream); });
}

int resize_backward_cuda(const ResizeBackwardArguments& a, void* stream) {
  return dispatch_resize_backward(
      a, [&](const auto& op) { return for_each_pixel_cuda(op, op.output, stream); });
}

}  // namespace orbbec
