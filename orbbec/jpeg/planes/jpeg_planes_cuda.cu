// jpeg_planes on a CUDA device. units_kernel: a thread block owns an image, a thread a unit of its
// scan. blocks_kernel: a thread owns a column, then a row, of a block of 8 x 8; a thread block owns
// 32 consecutive blocks of a plane.
#include "../../executors/cuda/warp.h"
#include "jpeg_planes.h"

namespace orbbec {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = kThreads / kBlockSide;  // blocks of 8 x 8 per thread block
constexpr int kGroupsPerImage = 16;            // thread blocks: the sizes are on the device

constexpr int kRingWords = 16;  // of a thread

// 12 bytes.
struct SharedState {
  uint32_t bit, segment;
  int16_t block, k;

  __device__ void operator=(const ScanState& state) {
    bit = state.bit;
    segment = state.segment;
    block = static_cast<int16_t>(state.block);
    k = static_cast<int16_t>(state.k);
  }
  __device__ operator ScanState() const { return {bit, segment, block, k}; }
};

// 48 KiB.
struct SharedUnits {
  Lookups lookups;
  SharedState exits[kMaxUnits];
  union {
    uint32_t ring[kRingWords][kMaxUnits];
    ScanTotals before[kMaxUnits];  // of the units before
  };
  uint32_t warps[4][kMaxUnits / kWarp];
};

// The words of a scan by way of a ring in shared memory. A load that some lane has just begun would
// stall all lanes of the warp that need one of theirs; here all lanes load at once, 16 bytes, which
// they write to the ring when 16 of its bytes are free, and read a dozen words later.
class PrefetchedWords {
 public:
  static constexpr uint32_t kSymbols = 4;  // of at most 31 bits: less than 16 bytes

  __device__ PrefetchedWords(const Scan& scan, SharedUnits& shared)
      : packed_(scan.packed),
        last_(static_cast<uint32_t>(
            PackedScan::bytes_with(scan.packed->segments, scan.packed->scan_bytes) / sizeof(uint4) -
            1)),
        ring_(&shared.ring[0][threadIdx.x]) {}

  __device__ void seek(uint32_t index) {
    read_ = static_cast<uint32_t>(sizeof(PackedScan) / 4) + packed_->segments + index;
    written_ = read_ / 4 * 4;
    for (int i = 0; i < 3; ++i) {
      load();
      write();
    }
    load();
  }
  __device__ uint32_t next() { return ring_[read_++ % kRingWords * kMaxUnits]; }
  __device__ void prefetch() {
    if (written_ - read_ > kRingWords - 4) return;
    write();
    load();
  }

 private:
  // Past the end, which no code reaches, the last words again.
  __device__ void load() {
    loaded_ = reinterpret_cast<const uint4*>(packed_)[smaller(written_ / 4, last_)];
  }
  __device__ void write() {
    const uint32_t words[] = {loaded_.x, loaded_.y, loaded_.z, loaded_.w};
    uint32_t* const to = ring_ + written_ % kRingWords * kMaxUnits;
    for (int i = 0; i < 4; ++i) to[i * kMaxUnits] = __byte_perm(words[i], 0, 0x0123);
    written_ += 4;
  }

  const PackedScan* packed_;
  uint32_t last_;  // 16 bytes of it
  uint32_t* ring_;
  uint32_t read_ = 0, written_ = 0;  // words
  uint4 loaded_ = {};                // the next to write
};

__device__ void add_flags(int32_t* to, int flags) {
  if (flags != 0) atomicOr(to, flags);
}

__device__ bool is_ordered(const Scan& scan) {
  int wrong = 0;
  for (uint32_t s = threadIdx.x; s < scan.packed->segments; s += kMaxUnits) {
    wrong |= !scan.is_ordered(s);
  }
  return __syncthreads_or(wrong) == 0;
}

__device__ void set_lookups(const JpegPlanes& op, const Scan& scan, Lookups& lookups) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kCells) lookups.positions[thread] = op.positions[thread];
  if (thread < 4) lookups.of[thread].set(scan.codes(thread));
  if (thread < CodeLookup::kSymbols) {
    for (int i = 0; i < 4; ++i) lookups.of[i].set_symbol(scan.codes(i), thread);
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    for (int e = thread; e < CodeLookup::kEntries; e += kMaxUnits) lookups.set_entry(i, e);
  }
  __syncthreads();
}

// Decodes units until none changes. Returns false after too many rounds.
__device__ bool synchronize(const Scan& scan, SharedUnits& shared, ScanUnit& unit) {
  const bool is_unit = unit.index < scan.units;
  bool changed = is_unit;
  for (uint32_t round = 0; round < scan.max_rounds(); ++round) {
    if (changed) {
      unit.count(scan, shared.lookups, PrefetchedWords(scan, shared));
      shared.exits[unit.index] = unit.exit;
    }
    __syncthreads();
    changed = is_unit && unit.index > 0 && unit.entry != shared.exits[unit.index - 1];
    if (changed) unit.entry = shared.exits[unit.index - 1];
    if (!__syncthreads_or(changed)) return true;
  }
  return false;
}

// What the segment has before a unit: blocks, and the DC of so many components.
template <int kComponents>
__device__ ScanTotals totals_before(const Scan& scan, SharedUnits& shared, const ScanUnit& unit) {
  uint32_t total;
  const ScanTotals totals = unit.totals;
  ScanTotals sums = totals;
  sums.blocks = block_inclusive_sum(totals.blocks, shared.warps[3], total);
#pragma unroll
  for (int c = 0; c < kComponents; ++c) {
    sums.dc[c] = block_inclusive_sum(totals.dc[c], shared.warps[c], total);
  }
  const ScanTotals before = sums - totals;
  shared.before[threadIdx.x] = before;
  __syncthreads();
  const ScanTotals others =
      shared.before[unit.index < scan.units ? unit.first_of_segment(scan) : 0];
  __syncthreads();  // the ring is written again
  return before - others;
}

// Reads a scan three times: once from guesses, about once until the units agree, once to store.
__global__ void __launch_bounds__(kMaxUnits, 2) units_kernel(const JpegPlanes op) {
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
  const bool is_unit = unit.index < scan.units;
  const uint32_t blocks = totals_before<0>(scan, shared, unit).blocks;
  if (is_unit) {
    const PrefetchedWords words(scan, shared);
    const int flags = unit.store(scan, shared.lookups, words, blocks, op.coefficients_of(n));
    add_flags(&op.flags[n], flags);
  }
  const ScanTotals before = totals_before<kMaxComponents>(scan, shared, unit);
  if (is_unit) unit.add_dc(scan, before, op.coefficients_of(n));
}

// Of 32 blocks of 8 x 8 in a row of blocks; 14 KiB. Padded, so that the rows and columns of blocks
// do not conflict in the banks. What may still be read when the next blocks come is there twice.
struct SharedBlocks {
  struct Pixels {
    uint8_t* first[kGroup];
    uint8_t rows[kGroup], columns[kGroup];
    uint32_t words[kBlockSide][2 * kGroup + 4];
  };

  BlockColumn<uint16_t> steps[kMaxComponents][kBlockSide];
  BlockColumn<int16_t> columns[kGroup][kBlockSide + 1];  // after the first pass
  Pixels pixels[2];
};

// Exchanges columns for rows among the threads of a block of 8 x 8.
__device__ void transpose(int (&v)[kBlockSide], BlockColumn<int16_t> (&columns)[kBlockSide + 1],
                          int lane) {
  BlockColumn<int16_t> mine;
  for (int y = 0; y < kBlockSide; ++y) mine.of[y] = static_cast<int16_t>(v[y]);
  columns[lane] = mine;
  __syncwarp();
  for (int x = 0; x < kBlockSide; ++x) v[x] = columns[x].of[lane];
  __syncwarp();
}

__device__ void set_pixels(SharedBlocks::Pixels& pixels, const int (&v)[kBlockSide], int block,
                           int row) {
  for (int half = 0; half < 2; ++half) {
    uint32_t word = 0;
    for (int x = 0; x < 4; ++x) word |= static_cast<uint32_t>(v[4 * half + x]) << 8 * x;
    pixels.words[row][2 * block + half] = word;
  }
}

// A warp stores a row of all blocks, a thread four pixels. A plane may have any width.
__device__ void store_pixels(const SharedBlocks::Pixels& pixels, int64_t stride) {
  const int row = warp_id();
  for (int i = lane_id(); i < 2 * kGroup; i += kWarp) {
    const int block = i / 2, x = i % 2 * 4, columns = pixels.columns[block];
    if (row >= pixels.rows[block]) continue;
    uint8_t* const to = pixels.first[block] + row * stride + x;
    const uint32_t word = pixels.words[row][i];
    if (columns == kBlockSide && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
      *reinterpret_cast<uint32_t*>(to) = word;
      continue;
    }
    for (int byte = 0; byte < 4 && x + byte < columns; ++byte) {
      to[byte] = static_cast<uint8_t>(word >> 8 * byte);
    }
  }
}

// Reads a coefficient and writes a pixel once.
__global__ void __launch_bounds__(kThreads, 4) blocks_kernel(const JpegPlanes op) {
  __shared__ SharedBlocks shared;
  const int64_t n = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kBlockSide;
  const int block_of_group = thread / kBlockSide;
  if (!op.has_scan(n)) return;
  const Scan scan = op.scan(n);
  if (!scan.is_valid()) return;
  const StoredImage image = op.stored[n];
  const McuRegion region(scan.grid, op.box(n));
  if (thread < kMaxComponents * kBlockSide) {
    shared.steps[thread / kBlockSide][lane] = scan.packed->steps[thread / kBlockSide][lane];
  }
  __syncthreads();
  int flags = 0, turn = 0;
  uint32_t group = blockIdx.y;
  for (int c = 0; c < scan.grid.components(); ++c) {
    const uint32_t blocks = region.blocks_of(scan.grid, c);
    for (; group * kGroup < blocks; group += gridDim.y, turn ^= 1) {
      const uint32_t i = group * kGroup + block_of_group;
      const PlaneBlock block(scan.grid, image, region, c, smaller(i, blocks - 1));
      SharedBlocks::Pixels& pixels = shared.pixels[turn];
      int v[kBlockSide];
      const BlockColumn<int16_t> column = op.columns_of(n, block.index)[lane];
      if (!inverse_column(column, shared.steps[c][lane], v)) flags = kLargeCoefficient;
      transpose(v, shared.columns[block_of_group], lane);
      inverse_row(v);
      set_pixels(pixels, v, block_of_group, lane);
      if (lane == 0) {
        pixels.first[block_of_group] = block.first;
        pixels.rows[block_of_group] = static_cast<uint8_t>(i < blocks ? block.rows : 0);
        pixels.columns[block_of_group] = static_cast<uint8_t>(block.columns);
      }
      __syncthreads();
      store_pixels(pixels, PlaneBlock::stride_of(image, c));
    }
    group -= divided_up<uint32_t>(blocks, kGroup);
  }
  add_flags(&op.flags[n], flags);
}

}  // namespace

int jpeg_planes_cuda(const JpegPlanes& op, void* stream) {
  const auto count = static_cast<unsigned>(op.stored.planes.count);
  const int status = launch(units_kernel, dim3(count), dim3(kMaxUnits), 0, stream, op);
  if (status != cudaSuccess) return status;
  return launch(blocks_kernel, dim3(count, kGroupsPerImage), dim3(kThreads), 0, stream, op);
}

}  // namespace orbbec
