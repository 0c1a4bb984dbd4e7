// Runs a functor over the pixels of images, dense or variable-size, on a CUDA device. Included by
// *_cuda.cu; sees CUDA, never torch.
#pragma once

#include <type_traits>

#include "tiles.h"

namespace orbbec {

constexpr int kRaggedRunThreads = 256;
constexpr int kRaggedRuns = 128;  // blocks per image: enough for a few images to fill a device

// A block owns every gridDim.x-th run of 256 pixels of an image: the sizes are on the device, so
// the grid cannot depend on them.
template <class Op>
__global__ void __launch_bounds__(kRaggedRunThreads, 1)
    for_each_pixel_of_ragged_kernel(const Op op, const Images<uint8_t> sizes) {
  for (int64_t n = blockIdx.y; n < sizes.count; n += gridDim.y) {
    const Image<uint8_t> image = sizes[n];
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    const auto width = static_cast<unsigned>(image.width);
    for (int64_t p = static_cast<int64_t>(blockIdx.x) * kRaggedRunThreads + threadIdx.x; p < pixels;
         p += static_cast<int64_t>(gridDim.x) * kRaggedRunThreads) {
      const bool is_short = p >> 32 == 0;  // a division of 64 bits takes four times as long
      const unsigned y =
          is_short ? static_cast<unsigned>(p) / width : static_cast<unsigned>(p / width);
      op(n, static_cast<int>(y), static_cast<int>(p - int64_t{y} * width));
    }
  }
}

// op(n, y, x) for every pixel of variable-size images, on `stream`. Returns a cudaError_t.
template <class Op>
int for_each_pixel_of_ragged_cuda(const Op& op, const AnyImages& images, void* stream) {
  return launch(for_each_pixel_of_ragged_kernel<Op>, dim3(kRaggedRuns, grid_blocks(images.count)),
                dim3(kRaggedRunThreads), 0, stream, op, Images<uint8_t>(images));
}

// op(n, y, x) for every pixel of `images`, on `stream`. Returns a cudaError_t.
template <class Op, class T>
int for_each_pixel_of_images_cuda(const Op& op, const Images<T>& images, void* stream) {
  if constexpr (std::is_same_v<T, uint8_t>) {  // variable-size images have no other type
    if (images.layout != nullptr) return for_each_pixel_of_ragged_cuda(op, images, stream);
  }
  return for_each_pixel_cuda(op, images, stream);
}

}  // namespace orbbec
