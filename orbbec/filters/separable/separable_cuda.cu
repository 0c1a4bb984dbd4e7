#include <algorithm>

#include "../tiles_cuda.h"
#include "separable.h"
#include "taps.h"

namespace orbbec {
namespace {

constexpr int64_t kMaxTileBytes =
    96 * 1024;  // two blocks per multiprocessor on compute capability 9.0

// Shared memory of a tile: its pixels with margins, then the horizontal sums.
template <class Rule>
ORBBEC_HD int64_t pixel_bytes(int64_t height, int64_t width) {
  const int64_t bytes = (kBlockTileHeight + height - 1) * (kBlockTileWidth + width - 1) *
                        static_cast<int64_t>(sizeof(typename Rule::Value));
  return (bytes + 15) / 16 * 16;
}
template <class Rule>
ORBBEC_HD int64_t tile_bytes(int64_t height, int64_t width) {
  return pixel_bytes<Rule>(height, width) + (kBlockTileHeight + height - 1) * kBlockTileWidth *
                                                static_cast<int64_t>(sizeof(typename Rule::Row));
}

// A block owns a tile of one channel: it reads the tile's pixels once, sums the rows it needs, then
// the columns. A window too large for shared memory is summed pixel by pixel.
template <class Rule>
__global__ void __launch_bounds__(kBlockWidth* kBlockHeight, 1)
    separable_kernel(const Separable<Rule> op, int64_t shared_bytes) {
  using T = typename Rule::Value;
  using Row = typename Rule::Row;
  using Sum = typename Rule::Sum;
  T* const pixels = dynamic_shared<T>();
  for_each_tile(op.source, [&](int64_t n, int64_t channel, int top, int left) {
    const Image<const T> image = op.source[n];
    const Image<T> target = op.output[n];
    const Window window = op.window(n, image.height, image.width);
    const int height = at_most(kBlockTileHeight, image.height - top);
    const int width = at_most(kBlockTileWidth, image.width - left);
    if (tile_bytes<Rule>(window.height, window.width) > shared_bytes) {
      for_each_position(height, width, [&](int y, int x) { op(n, top + y, left + x, channel); });
      return;
    }
    const Rule rule(op.arguments, n, window, op.source.channels * image.width);
    Row* const sums = reinterpret_cast<Row*>(reinterpret_cast<char*>(pixels) +
                                             pixel_bytes<Rule>(window.height, window.width));
    const int rows = height + window.height - 1, columns = width + window.width - 1;
    const int first_row = top - window.above(), first_column = left - window.before();
    for_each_position(rows, columns, [&](int y, int x) {
      const int from_y = index_or_outside(first_row + y, image.height, op.arguments.border);
      const int from_x = index_or_outside(first_column + x, image.width, op.arguments.border);
      pixels[y * columns + x] = from_y < 0 || from_x < 0 ? T{} : image.at(from_y, from_x, channel);
    });
    __syncthreads();
    for_each_position(rows, width, [&](int y, int x) {
      const T* const from = pixels + y * columns + x;
      sums[y * kBlockTileWidth + x] = rule.template pass<Row>(
          1, window.width, [&](int i) { return static_cast<Row>(load<T>(from[i])); });
    });
    __syncthreads();
    for_each_position(height, width, [&](int y, int x) {
      const Row* const from = sums + y * kBlockTileWidth + x;
      const Sum sum = rule.template pass<Sum>(
          0, window.height, [&](int i) { return static_cast<Sum>(from[i * kBlockTileWidth]); });
      target.at(top + y, left + x, channel) =
          rule.finish(sum, (int64_t{left} + x) * op.source.channels + channel);
    });
    __syncthreads();
  });
}

// The shared memory available to a block: 64 KiB on compute capability 7.5.
int64_t most_shared_bytes() {
  int device = 0, bytes = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (status == cudaSuccess) return bytes;
  cudaGetLastError();
  return kSharedBytesWithoutAsking;
}

template <template <class> class Rule>
int run_separable(const SeparableArguments& arguments, void* stream) {
  return dispatch_separable<Rule>(arguments, [&](const auto& op) {
    using OpRule = typename std::decay_t<decltype(op)>::Rule;
    const int64_t wanted = tile_bytes<OpRule>(arguments.longest, arguments.longest);
    const int64_t bytes = std::min({wanted, kMaxTileBytes, most_shared_bytes()});
    return launch(separable_kernel<OpRule>, tile_blocks(arguments.source),
                  dim3(kBlockWidth, kBlockHeight), static_cast<size_t>(bytes), stream, op, bytes);
  });
}

}  // namespace

int gaussian_blur_cuda(const SeparableArguments& arguments, void* stream) {
  return run_separable<GaussianRule>(arguments, stream);
}

int box_blur_cuda(const SeparableArguments& arguments, void* stream) {
  return run_separable<BoxRule>(arguments, stream);
}

int gaussian_taps_cuda(const TapsArguments& arguments, void* stream) {
  return dispatch_taps(arguments, [&](const auto& taps) {
    return for_each_item_cuda(taps, arguments.count, 2, stream);
  });
}

}  // namespace orbbec
