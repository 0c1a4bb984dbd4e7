#include "../executors/executor_cuda.h"
#include "resize_backward.h"

namespace orbbec {
namespace {

constexpr int kTileColumns = 32, kTileLines = 16,
              kTileThreads = 8;        // rows per tile, rows of threads
constexpr int kTileBytes = 24 * 1024;  // eight blocks fit a multiprocessor

// A block owns 32 columns and 16 rows of one channel after another: its threads sum each source row
// that these need horizontally once, into kTileBytes of shared memory, and then vertically. A
// source pixel is read once per column that depends on it. Tiles that need more source rows than
// fit, and images with other sums, are computed pixel by pixel.
template <class Op>
__global__ void __launch_bounds__(kTileColumns* kTileThreads, 1)
    resize_tile_kernel(const Op op, int64_t count, int height, int width) {
  using Form = typename Op::Form;
  using Row = typename Form::Row;
  using Weight = typename Op::Weight;
  constexpr int kMostRows = kTileBytes / static_cast<int>(sizeof(Row)) / kTileColumns;
  Row* const sums = dynamic_shared<Row>() + threadIdx.x;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTileColumns + threadIdx.x;
  const int x = static_cast<int>(column < width ? column : width - 1);
  const int64_t tiles = (static_cast<int64_t>(height) + kTileLines - 1) / kTileLines;
  for (int64_t n = blockIdx.z; n < count; n += gridDim.z) {
    const ResizePlan plan = op.coefficients.plans[op.coefficients.set_of(n)];
    const auto from = op.source[n];
    const auto to = op.output[n];
    const Taps<Weight> taps_x = taps_at<Weight>(op.coefficients, n, x);
    const bool inside = taps_x.first >= plan.left && taps_x.first + taps_x.count <= plan.right;
    for (int64_t tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
      const int begin = static_cast<int>(tile * kTileLines);
      const int end = height - begin < kTileLines ? height : begin + kTileLines;
      const auto taps_y = [&](int y) { return taps_at<Weight>(op.coefficients, n, width + y); };
      const auto source_row = [&](int row) { return clamp_int(row, plan.top, plan.bottom - 1); };
      int first = 0, rows = kMostRows + 1;
      if (plan.form == ResizeForm::kTwoPass && !plan.vertical_first) {
        const Taps<Weight> last = taps_y(end - 1);
        first = source_row(taps_y(begin).first);
        rows = source_row(last.first + last.count - 1) - first + 1;
      }
      if (rows > kMostRows) {
        for (int y = begin + threadIdx.y; y < end && column < width; y += kTileThreads) op(n, y, x);
        continue;
      }
      for (int64_t c = 0; c < op.output.channels; ++c) {
        for (int r = threadIdx.y; r < rows; r += kTileThreads) {
          sums[r * kTileColumns] = Form::horizontal(taps_x, inside, [&](int k) {
            const int at = clamp_int(taps_x.first + k, plan.left, plan.right - 1);
            return static_cast<typename Form::Term>(load(from.at(first + r, at, c)));
          });
        }
        __syncthreads();
        for (int y = begin + threadIdx.y; y < end && column < width; y += kTileThreads) {
          const Taps<Weight> taps = taps_y(y);
          to.at(y, column_of(op.flips, n, x, width), c) =
              Form::vertical(taps, op.in_body(x, c), [&](int k) {
                return load_term(sums[(source_row(taps.first + k) - first) * kTileColumns]);
              });
        }
        __syncthreads();
      }
    }
  }
}

template <class T>
int launch_resize(const ResizeNearest<T>& op, void* stream) {
  return for_each_pixel_cuda(op, op.output, stream);
}

// What is known of the taps per axis without the sizes: there are always two, or always more.
template <class Form>
constexpr bool kHasTwoTaps = std::is_same_v<Form, FixedLinear>;
template <class T>
constexpr bool kHasTwoTaps<ExactLinear<T>> = true;
template <class Form>
constexpr bool kHasMoreTaps = false;
template <bool kBodyIsFloat>
constexpr bool kHasMoreTaps<FixedTaps<kBodyIsFloat>> = true;
template <class T>
constexpr bool kHasMoreTaps<AreaTaps<T>> = true;

template <class Op>
int launch_tiles(const Op& op, void* stream) {
  const int64_t tiles = (static_cast<int64_t>(op.output.height) + kTileLines - 1) / kTileLines;
  const int64_t columns = (static_cast<int64_t>(op.output.width) + kTileColumns - 1) / kTileColumns;
  const dim3 grid(
      static_cast<unsigned>(columns),
      static_cast<unsigned>(tiles < kMaxGridYZ ? tiles : kMaxGridYZ),
      static_cast<unsigned>(op.output.count < kMaxGridYZ ? op.output.count : kMaxGridYZ));
  return launch(resize_tile_kernel<Op>, grid, dim3(kTileColumns, kTileThreads), kTileBytes, stream,
                op, op.output.count, op.output.height, op.output.width);
}

// Two taps per axis read each source row only about once.
template <class T, class Form>
int launch_resize(const Resize<T, Form>& op, void* stream) {
  if constexpr (kHasTwoTaps<Form>) {
    return for_each_pixel_cuda(op, op.output, stream);
  } else {
    if constexpr (!kHasMoreTaps<Form>) {
      if (op.coefficients.taps_y <= 2) return for_each_pixel_cuda(op, op.output, stream);
    }
    return launch_tiles(op, stream);
  }
}

}  // namespace

int fill_resize_coefficients_cuda(const ResizeArguments& a, void* stream) {
  return dispatch_weight(a.request.method, a.dtype, [&](auto weight) {
    using Fill = FillResizeCoefficients<decltype(weight)>;
    const int items = static_cast<int>(Fill::items(a.request));
    return for_each_item_cuda(Fill(a.request, a.coefficients), a.coefficients.sets, items, stream);
  });
}

int resize_cuda(const ResizeArguments& a, void* stream) {
  return dispatch_resize(a, [&](const auto& op) { return launch_resize(op, stream); });
}

int resize_backward_cuda(const ResizeBackwardArguments& a, void* stream) {
  return dispatch_resize_backward(
      a, [&](const auto& op) { return for_each_pixel_cuda(op, op.output, stream); });
}

}  // namespace orbbec
