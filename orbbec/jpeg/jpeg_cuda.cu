// jpeg_compression on a CUDA device: a thread owns a column of a block of 8 x 8; a thread block
// owns 32 consecutive blocks of an image.
#include "../executors/cuda/tiles.h"
#include "jpeg.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = kThreads / kBlockSide;  // blocks of 8 x 8 per thread block
constexpr int kPitch =
    kThreads + 1;                  // padded, so that neither rows nor columns conflict in the banks
constexpr int kRaggedGroups = 64;  // per image whose size is on the device

// 8 KiB of values, 1 KiB of tables.
struct Shared {
  int cells[kBlockSide * kPitch];
  Quantizer tables[2];
};

// The threads of a block of 8 x 8 transpose it; they are in one warp.
struct TransposeShared {
  int* cells;
  int thread;

  __device__ void operator()(int (&v)[kBlockSide]) const {
    const int lane = thread % kBlockSide, first = thread - lane;
    for (int k = 0; k < kBlockSide; ++k) cells[k * kPitch + thread] = v[k];
    __syncwarp();
    for (int k = 0; k < kBlockSide; ++k) v[k] = cells[lane * kPitch + first + k];
    __syncwarp();
  }
};

struct QuantizeColumn {
  const Quantizer& table;
  int column;

  __device__ int operator()(int k, int v) const {
    const int cell = k * kBlockSide + column;
    return quantized<OneColumn>(v, table.step[cell], table.reciprocal[cell]);
  }
};

// The threads of a block compute the quantizers of image n.
__device__ void fill_tables(const JpegArguments& a, int64_t n, Quantizer (&tables)[2]) {
  __syncthreads();  // wait until the previous image is done
  const int i = static_cast<int>(threadIdx.x);
  if (i < 2 * kCells) {
    tables[i / kCells].set(i % kCells, a.step(i / kCells, i % kCells, a.quality_of(n)));
  }
  __syncthreads();
}

// The column of a thread among the columns of an image's blocks.
struct Column {
  int64_t x, y;  // of its first value
  bool inside;

  __device__ Column(int64_t group, int64_t height, int64_t width) {
    const int64_t blocks_x = (width + kBlockSide - 1) / kBlockSide;
    const int64_t block = group * kGroup + threadIdx.x / kBlockSide;
    x = block % blocks_x * kBlockSide + threadIdx.x % kBlockSide;
    y = block / blocks_x * kBlockSide;
    inside = x < width && y < height;
  }
};

__device__ int64_t groups_of(int64_t height, int64_t width) {
  const int64_t blocks_y = (height + kBlockSide - 1) / kBlockSide;
  const int64_t blocks_x = (width + kBlockSide - 1) / kBlockSide;
  return (blocks_y * blocks_x + kGroup - 1) / kGroup;
}

__device__ int64_t at_most(int64_t value, int64_t limit) { return value < limit ? value : limit; }

__device__ Color<int> color_at(const Image<const uint8_t>& image, int64_t y, int64_t x) {
  const uint8_t* const pixel = image.data + y * image.stride_y + x * image.stride_x;
  return {pixel[0], pixel[image.stride_c], pixel[2 * image.stride_c]};
}

// Averages four pixels for each value of both chroma planes, encodes and decodes the planes, writes
// them.
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, 64))
    chroma_kernel(const JpegArguments a) {
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x);
  const QuantizeColumn quantize{shared.tables[1], thread % kBlockSide};
  for (int64_t n = blockIdx.y; n < a.source.count; n += gridDim.y) {
    fill_tables(a, n, shared.tables);
    const Image<const uint8_t> image = a.source[n];
    const ChromaPlanes planes(a, n, image.height, image.width);
    const int64_t groups = groups_of(planes.height, planes.width);
    for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
      const Column column(group, planes.height, planes.width);
      const int64_t left = at_most(2 * column.x, image.width - 1);
      const int64_t right = at_most(2 * column.x + 1, image.width - 1);
      int v[2][kBlockSide];
      for (int k = 0; k < kBlockSide; ++k) {
        const int64_t above = 2 * at_most(column.y + k, planes.height - 1);
        const int64_t below = at_most(above + 1, image.height - 1);
        int sums[2] = {0, 0};
        for (int i = 0; i < 4; ++i) {
          const Color<int> c = color_at(image, i < 2 ? above : below, i % 2 == 0 ? left : right);
          sums[0] += cb_of<OneColumn>(c.red, c.green, c.blue);
          sums[1] += cr_of<OneColumn>(c.red, c.green, c.blue);
        }
        for (int p = 0; p < 2; ++p) v[p][k] = mean_of_four(sums[p], column.x);
      }
#pragma unroll  // keeps a plane's numbers in registers
      for (int p = 0; p < 2; ++p) {
        code_block<OneColumn>(v[p], TransposeShared{shared.cells, thread}, quantize);
        const int64_t rows = column.inside ? at_most(kBlockSide, planes.height - column.y) : 0;
        for (int k = 0; k < kBlockSide; ++k) {
          if (k < rows) planes.row(p, column.y + k)[column.x] = static_cast<uint8_t>(v[p][k]);
        }
      }
    }
  }
}

// Chroma at a pixel from a decoded plane: four reads.
__device__ int upsampled(const ChromaPlanes& planes, int plane, int64_t y, int64_t x) {
  const uint8_t* const near = planes.row(plane, y / 2);
  const uint8_t* const far = planes.row(plane, planes.other_row(y));
  const int64_t at = x / 2, other = planes.other_column(x);
  return blend_columns(blend_rows(near[at], far[at]), blend_rows(near[other], far[other]), x);
}

// A thread reads a column of 8 pixels, encodes and decodes it with the other threads of its block,
// writes it.
template <int kChannels, bool kHalved>
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, 64))
    image_kernel(const JpegArguments a) {
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kBlockSide;
  constexpr int kPlanes = kChannels == 3 && !kHalved ? 3 : 1;
  for (int64_t n = blockIdx.y; n < a.source.count; n += gridDim.y) {
    fill_tables(a, n, shared.tables);
    const Image<const uint8_t> image = a.source[n];
    const Image<uint8_t> to = a.output[n];
    const ChromaPlanes chroma(a, n, image.height, image.width);
    const int64_t groups = groups_of(image.height, image.width);
    for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
      const Column column(group, image.height, image.width);
      const int64_t x = at_most(column.x, image.width - 1);
      int v[kPlanes][kBlockSide];
      for (int k = 0; k < kBlockSide; ++k) {
        const int64_t y = at_most(column.y + k, image.height - 1);
        if constexpr (kChannels == 1) {
          v[0][k] = image.data[y * image.stride_y + x * image.stride_x];
        } else {
          const Color<int> c = color_at(image, y, x);
          v[0][k] = luma_of<OneColumn>(c.red, c.green, c.blue);
          if constexpr (kPlanes == 3) {
            v[1][k] = cb_of<OneColumn>(c.red, c.green, c.blue);
            v[2][k] = cr_of<OneColumn>(c.red, c.green, c.blue);
          }
        }
      }
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        code_block<OneColumn>(v[p], TransposeShared{shared.cells, thread},
                              QuantizeColumn{shared.tables[p > 0], lane});
      }
      const int64_t rows = column.inside ? at_most(kBlockSide, image.height - column.y) : 0;
      for (int k = 0; k < kBlockSide; ++k) {
        if (k >= rows) continue;
        const int64_t y = column.y + k;
        uint8_t* const pixel = to.data + y * to.stride_y + column.x * to.stride_x;
        if constexpr (kChannels == 1) {
          pixel[0] = static_cast<uint8_t>(v[0][k]);
        } else {
          int cb, cr;
          if constexpr (kPlanes == 3) {
            cb = v[1][k];
            cr = v[2][k];
          } else {
            cb = upsampled(chroma, 0, y, column.x);
            cr = upsampled(chroma, 1, y, column.x);
          }
          const Color<int> color = color_of<OneColumn>(v[0][k], cb, cr);
          pixel[0] = static_cast<uint8_t>(color.red);
          pixel[to.stride_c] = static_cast<uint8_t>(color.green);
          pixel[2 * to.stride_c] = static_cast<uint8_t>(color.blue);
        }
      }
    }
  }
}

dim3 grid_of(const AnyImages& images, int64_t scale) {
  constexpr int64_t kMaxGroups = 1 << 20;
  const int64_t side = kBlockSide * scale;
  const int64_t blocks = ((images.height + side - 1) / side) * ((images.width + side - 1) / side);
  const int64_t groups = images.layout != nullptr ? kRaggedGroups : (blocks + kGroup - 1) / kGroup;
  return dim3(static_cast<unsigned>(groups < kMaxGroups ? groups : kMaxGroups),
              grid_blocks(images.count));
}

}  // namespace

int jpeg_compression_cuda(const JpegArguments& a, void* stream) {
  const bool halved = a.subsampling == Subsampling::k420;
  if (a.source.channels == 3 && halved) {
    const int status = launch(chroma_kernel, grid_of(a.source, 2), dim3(kThreads), 0, stream, a);
    if (status != cudaSuccess) return status;
  }
  const auto kernel = a.source.channels == 1 ? image_kernel<1, false>
                      : halved               ? image_kernel<3, true>
                                             : image_kernel<3, false>;
  return launch(kernel, grid_of(a.source, 1), dim3(kThreads), 0, stream, a);
}

}  // namespace orbbec
