// jpeg_planes on a CUDA device. units_kernel: a thread block owns an image, a thread a unit of its
// scan. blocks_kernel: a thread owns a column, then a row, of a block of 8 x 8; a thread block owns
// 32 consecutive blocks of a region.
#include "../../executors/cuda/warp.h"
#include "jpeg_planes.h"

namespace orbbec {
namespace {

constexpr int kThreads = kMaxUnits;
static_assert(kThreads == CodeLookup::kSymbols);
constexpr int kGroup = kThreads / kBlockSide;  // blocks of 8 x 8 per thread block
constexpr int kGroupsPerImage = 64;            // thread blocks: the sizes are on the device
constexpr int kPitch = kBlockSide + 1;  // padded, so that columns do not conflict in the banks

// 18 KiB.
struct SharedUnits {
  Lookups lookups;
  ScanState exits[kMaxUnits];
  ScanTotals before[kMaxUnits];  // of the units before
  uint32_t warps[4][kThreads / kWarp];
};

__device__ void add_flags(int32_t* to, int flags) {
  if (flags != 0) atomicOr(to, flags);
}

__device__ bool is_ordered(const Scan& scan) {
  int wrong = 0;
  for (uint32_t s = threadIdx.x; s < scan.packed->segments; s += kThreads) {
    wrong |= !scan.is_ordered(s);
  }
  return __syncthreads_or(wrong) == 0;
}

__device__ void set_lookups(const JpegPlanes& op, const Scan& scan, Lookups& lookups) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kCells) lookups.positions[thread] = op.positions[thread];
  if (thread < 4) lookups.at(thread).set(scan.codes(thread));
  for (int i = 0; i < 4; ++i) lookups.at(i).set_symbol(scan.codes(i), thread);
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    for (int e = thread; e < CodeLookup::kEntries; e += kThreads) lookups.set_entry(i, e);
  }
  __syncthreads();
}

// Decodes units until none changes. Returns false after too many rounds.
__device__ bool synchronize(const Scan& scan, SharedUnits& shared, ScanUnit& unit) {
  const bool is_unit = unit.index < scan.units;
  bool changed = is_unit;
  for (uint32_t round = 0; round < scan.max_rounds(); ++round) {
    if (changed) {
      unit.count(scan, shared.lookups);
      shared.exits[unit.index] = unit.exit;
    }
    __syncthreads();
    changed = is_unit && unit.index > 0 && unit.entry != shared.exits[unit.index - 1];
    if (changed) unit.entry = shared.exits[unit.index - 1];
    if (!__syncthreads_or(changed)) return true;
  }
  return false;
}

// What the segment has before a unit.
__device__ ScanTotals totals_before(const Scan& scan, SharedUnits& shared, const ScanUnit& unit) {
  uint32_t total;
  const ScanTotals totals = unit.totals;
  ScanTotals sums;
  sums.blocks = block_inclusive_sum(totals.blocks, shared.warps[3], total);
#pragma unroll
  for (int c = 0; c < kMaxComponents; ++c) {
    sums.dc[c] = block_inclusive_sum(totals.dc[c], shared.warps[c], total);
  }
  const ScanTotals before = sums - totals;
  shared.before[threadIdx.x] = before;
  __syncthreads();
  return before - shared.before[unit.index < scan.units ? unit.first_of_segment(scan) : 0];
}

// Reads a scan three times: once from guesses, about once until the units agree, once to store.
__global__ void __launch_bounds__(kThreads, 1) units_kernel(const JpegPlanes op) {
  __shared__ SharedUnits shared;
  const int64_t n = blockIdx.x;
  if (!op.has_scan(n)) return;
  const Scan scan = op.scan(n);
  if (!scan.is_valid() || !is_ordered(scan)) {
    if (threadIdx.x == 0) op.flags[n] = kBadScan;
    return;
  }
  set_lookups(op, scan, shared.lookups);
  ScanUnit unit(scan, threadIdx.x);
  if (!synchronize(scan, shared, unit)) {
    if (threadIdx.x == 0) op.flags[n] = kNotSynchronized;
    return;
  }
  const ScanTotals before = totals_before(scan, shared, unit);
  if (unit.index >= scan.units) return;
  add_flags(&op.flags[n], unit.store(scan, shared.lookups, before, op.coefficients_of(n)));
}

// The pixels of a row; a plane may have any width.
__device__ void store_row(const int (&v)[kBlockSide], uint8_t* to, int columns) {
  if (columns == kBlockSide && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    for (int half = 0; half < 2; ++half) {
      uint32_t word = 0;
      for (int x = 0; x < 4; ++x) word |= static_cast<uint32_t>(v[4 * half + x]) << 8 * x;
      reinterpret_cast<uint32_t*>(to)[half] = word;
    }
    return;
  }
  for (int x = 0; x < kBlockSide; ++x) {
    if (x < columns) to[x] = static_cast<uint8_t>(v[x]);
  }
}

// Reads a coefficient and writes a pixel once; 9 KiB of shared memory.
__global__ void __launch_bounds__(kThreads, 1) blocks_kernel(const JpegPlanes op) {
  __shared__ int cells[kGroup][kBlockSide * kPitch];
  const int64_t n = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kBlockSide;
  if (!op.has_scan(n)) return;
  const Scan scan = op.scan(n);
  if (!scan.is_valid()) return;
  const StoredImage image = op.stored[n];
  const McuRegion region(scan.grid, op.box(n));
  const int64_t blocks = region.mcus() * scan.grid.blocks_of_mcu;
  int* const square = cells[thread / kBlockSide];
  int flags = 0;
  for (int64_t group = blockIdx.y; group * kGroup < blocks; group += gridDim.y) {
    const int64_t i = smaller(group * kGroup + thread / kBlockSide, blocks - 1);
    const PlaneBlock block(scan, image, region, static_cast<uint32_t>(i));
    int v[kBlockSide];
    const int column = lane * kBlockSide;
    const int16_t* const coefficients = op.coefficients_of(n) + block.index * kCells + column;
    if (!inverse_column(coefficients, block.steps + column, v)) flags = kLargeCoefficient;
    for (int y = 0; y < kBlockSide; ++y) square[y * kPitch + lane] = v[y];
    __syncwarp();
    for (int x = 0; x < kBlockSide; ++x) v[x] = square[lane * kPitch + x];
    __syncwarp();
    inverse_row(v);
    const bool is_mine = group * kGroup + thread / kBlockSide < blocks;
    if (is_mine && lane < block.rows)
      store_row(v, block.first + lane * block.stride, block.columns);
  }
  add_flags(&op.flags[n], flags);
}

}  // namespace

int jpeg_planes_cuda(const JpegPlanes& op, void* stream) {
  const auto count = static_cast<unsigned>(op.stored.planes.count);
  const int status = launch(units_kernel, dim3(count), dim3(kThreads), 0, stream, op);
  if (status != cudaSuccess) return status;
  return launch(blocks_kernel, dim3(count, kGroupsPerImage), dim3(kThreads), 0, stream, op);
}

}  // namespace orbbec
