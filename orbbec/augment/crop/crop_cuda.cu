// The CUDA kernel of augment_crop: a block owns a band of 32 output rows, a thread a column of it.
// The bands of the resize go to shared memory, where augment reads them.
#include "../../resize/bands_cuda.h"
#include "../tile_cuda.h"
#include "crop.h"

namespace orbbec {

int resize_cuda(const ResizeArguments& arguments, void* stream);
int augment_cuda(const AugmentArguments& arguments, void* stream);

namespace {

constexpr int kCropRows = 32;                                   // of a band
constexpr unsigned kMinThreads = kTileWidth * kTileHeight / 2;  // that load the image's parameters
constexpr int64_t kMaxRingBytes = 12 * 1024;                    // what is left of 48 KiB

using Crop = Resize<uint8_t, PillowFixed>;
using Tail = decltype(augment_of<uint8_t, NearestSampler>(std::declval<AugmentArguments>()));

constexpr int kStrideY = kBandThreads * kPixelBytes;  // of a band in shared memory

// Where pixel (0, 0) would be if the band of a block, in shared memory, were a part of an image.
__device__ uint8_t* first_of(uint8_t* band, int left, int top) {
  return band - top * kStrideY - left * kPixelBytes;
}

// Adds the gray values of a band before contrast, in tiles of 32 rows: each warp its columns.
__device__ void add_gray(const Tail& tail, const Tile& tile, int64_t n,
                         AugmentThread<Tail>& thread) {
  const int across = tiles_across(tail.shapes[n]), column = tile.left / kWarp + warp_id();
  if (tail.program_without_mean(n).contrast_step() < 0 || column >= across) return;
  int64_t sum = 0;
  for (int row = tile.top; row < tile.bottom; row += kPixels<Tail>) {
    float values[kPixels<Tail>][kMaxFills];
    thread.finished(row, values);
    sum += thread.gray_units(row, values);
  }
  sum = warp_sum(sum);
  if (lane_id() == 0) gray_sums_of(tail, n)[tile.top / kCropRows * across + column] = sum;
}

__device__ void store_rows(const Tail& tail, const Tile& tile, int64_t n,
                           AugmentThread<Tail>& thread, StagedRows& staged) {
  const int left = tile.left + warp_id() * kWarp;
  OutputRow to(tail.arguments, tail.shapes[n], tile.top, left, lane_id());
  for (int row = tile.top; row < tile.bottom; row += kPixels<Tail>) {
    float values[kPixels<Tail>][kMaxFills];
    thread.finished(row, values);
    to.store(tail.arguments, tile.bottom - row, values, staged.words[warp_id()]);
  }
}

// A thread owns a pixel of each row of a band, and reads only its own. kTakesMean: the resize
// writes to memory, and only gray values are added. Shared memory: 36 KB, or 11 KB where the mean
// is taken, and the ring of the resize.
template <bool kTakesMean>
__global__ void __launch_bounds__(kBandThreads, blocks_of(kBandThreads, 72))
    augment_crop_kernel(const Crop crop, const Tail tail, const Quotients quotients,
                        int ring_rows) {
  __shared__ RowGroup<Crop::Weight> groups[kMaxGroups];
  __shared__ __align__(16) uint8_t pixels[kTakesMean ? 16 : kCropRows * kStrideY];
  __shared__ SharedBytes<SharedImages<Tail>> memory;
  [[maybe_unused]] __shared__ StagedRows staged;
  BandColumn column;
  if (!find_value<kCropRows, kPixelBytes>(crop, kPixelBytes, column)) return;
  const AnyImages& crops = crop.output;
  const unsigned chunks = (static_cast<unsigned>(crops.width) - 1) / blockDim.x + 1;
  const int left = static_cast<int>(blockIdx.x % chunks * blockDim.x);
  Crop target = crop;
  if constexpr (!kTakesMean) {
    target.output.data = first_of(pixels, left, column.begin);
    target.output.stride_n = 0;
    target.output.stride_y = kStrideY;
  }
  const ResizePlan plan = crop.coefficients.plans[crop.coefficients.set_of(column.n)];
  resize_part<kPixelBytes>(target, plan, crop.source[column.n], column, ring_rows, groups);

  SharedImages<Tail>& shared = memory.as_object();
  Tile tile{left, column.begin, column.end, crops.width, kCropRows / kTileHeight};
  tile.columns = static_cast<int>(blockDim.x);
  load_images(tail, tile, column.n, kNoImage, kTakesMean, shared);
  if (!kTakesMean && threadIdx.x == 0) {
    shared.views[0].data = first_of(pixels, left, column.begin);
    shared.views[0].stride_y = kStrideY;
  }
  __syncthreads();
  tile.warp_rows = kCropRows;  // of all warps
  AugmentThread<Tail> thread(tail, shared, tile, quotients, kTakesMean);
  if constexpr (kTakesMean) {
    add_gray(tail, tile, column.n, thread);
  } else {
    store_rows(tail, tile, column.n, thread, staged);
  }
}

template <bool kTakesMean>
int launch_crop(const Crop& crop, const AugmentArguments& a, void* stream) {
  const BandLaunch bands =
      band_launch<kPixelBytes>(crop, kPixelBytes, kCropRows, kMinThreads, kMaxRingBytes);
  return launch(augment_crop_kernel<kTakesMean>, bands.grid, bands.block, bands.ring_bytes, stream,
                crop, augment_of<uint8_t, NearestSampler>(a), quotients_of(a), bands.ring_rows);
}

}  // namespace

// One kernel where images are read in words and none are mixed; for contrast two, since the mean is
// that of all pixels.
int augment_crop_cuda(const AugmentCropArguments& arguments, void* stream) {
  const ResizeArguments& resize = arguments.resize;
  AugmentArguments augment = arguments.augment;
  const Crop crop(resize);
  const bool has_kernel =
      is_pillow(resize.request.method) && reads_words(crop, resize.request.method);
  const bool takes_mean = augment.gray_sums != nullptr;
  if (has_kernel && !takes_mean && augment.mix == nullptr)
    return launch_crop<false>(crop, augment, stream);
  int status = 0;
  if (has_kernel && takes_mean) {
    status = launch_crop<true>(crop, augment, stream);
    augment.gray_rows = kCropRows;
  } else {
    status = resize_cuda(resize, stream);
  }
  return status != 0 ? status : augment_cuda(augment, stream);
}

}  // namespace orbbec
