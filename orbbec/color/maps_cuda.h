// Maps of pixels on a CUDA device. Included by *_cuda.cu.
#pragma once

#include "../core/executor_cuda.h"
#include "maps.h"

namespace orbbec {

constexpr int kRaggedThreads = 256;
constexpr int kRaggedBlocks = 128;  // an image: enough for a few images to fill a device

// A block owns every gridDim.x-th run of 256 pixels of an image: the sizes lie on the device, so
// that the grid cannot be made by them.
template <class Map>
__global__ void __launch_bounds__(kRaggedThreads, 1)
    for_each_ragged_pixel_kernel(const Map map, int64_t count) {
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) {
    const auto image = map.output[n];
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * kRaggedThreads + threadIdx.x; p < pixels;
         p += static_cast<int64_t>(gridDim.x) * kRaggedThreads) {
      map(n, static_cast<int>(p / image.width), static_cast<int>(p % image.width));
    }
  }
}

// map(n, y, x) for every pixel of the output, on `stream`. Returns a cudaError_t.
template <class Map>
int run_map_cuda(const Map& map, void* stream) {
  const AnyImages& output = map.output;
  if (output.layout == nullptr) return for_each_pixel_cuda(map, output, stream);
  const auto rows = static_cast<unsigned>(output.count < kMaxGridYZ ? output.count : kMaxGridYZ);
  return launch(for_each_ragged_pixel_kernel<Map>, dim3(kRaggedBlocks, rows), dim3(kRaggedThreads),
                0, stream, map, output.count);
}

}  // namespace orbbec
