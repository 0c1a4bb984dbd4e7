// Histograms and LUTs on a CUDA device. A block counts up to 30,720 pixels of a channel, each
// thread in its own bytes of shared memory. A warp makes a LUT, each lane 8 levels of it.
#include "../../executors/cuda/bytes.h"
#include "../../executors/cuda/pointwise.h"
#include "tables.h"

namespace orbbec {
namespace {

constexpr int kThreads = 128;
constexpr int kMaxCount = 240;  // values per thread and round: a count fits a byte
constexpr int kRoundPixels = kThreads * kMaxCount;
constexpr int kMaxRounds = 1024;  // at once, of a channel
constexpr int kMaxStep = 4;       // bytes from a pixel to the next that are loaded by words

// The histograms of the threads of a block, a byte per level: word [level / 4][thread], so that
// each thread has its own bank.
struct ThreadCounts {
  uint32_t* words;

  __device__ void clear() const {
    auto* const four = reinterpret_cast<uint4*>(words);
    for (int i = threadIdx.x; i < kLevels / 4 * kThreads / 4; i += kThreads) {
      four[i] = make_uint4(0, 0, 0, 0);
    }
  }
  __device__ void add(uint32_t level) const {
    auto* const mine = reinterpret_cast<uint8_t*>(words + threadIdx.x);
    ++mine[(level >> 2) * (4 * kThreads - 4) + level];
  }
  // A thread sums four levels over half of the threads, in an order that gives lanes that load
  // together their own banks; the other half is its neighbor's. Adds two of them to `to`.
  __device__ void add_to(unsigned long long* to) const {
    constexpr int kLoads = kThreads / 2 / 4;
    const int half = threadIdx.x % 2, word = threadIdx.x / 2;
    const auto* const row = reinterpret_cast<const uint4*>(words + word * kThreads) + half * kLoads;
    uint32_t sums[4] = {};
#pragma unroll 4
    for (int i = 0; i < kLoads; ++i) {
      const uint4 counts = row[(threadIdx.x + i) % kLoads];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const uint32_t chosen = 1u << 8 * k;
        sums[k] = __dp4a(counts.x, chosen, __dp4a(counts.y, chosen, sums[k]));
        sums[k] = __dp4a(counts.z, chosen, __dp4a(counts.w, chosen, sums[k]));
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sums[k] += shuffle_xor(sums[k], 1);
    const uint32_t first = half == 0 ? sums[0] : sums[1], second = half == 0 ? sums[2] : sums[3];
    unsigned long long* const counts = to + 4 * word + half;
    if (first > 0) atomicAdd(counts, first);
    if (second > 0) atomicAdd(counts + 2, second);
  }
};

// Contiguous pixels, `step` bytes apart, whose level is byte `skip`.
struct PixelRun {
  const uint8_t* first;
  int step, skip;

  __device__ PixelRun(const Image<const uint8_t>& image, int64_t c)
      : first(image.data), step(0), skip(0) {
    const bool are_planes = image.stride_x == 1;
    const bool lie_together = image.stride_c == 1 && image.stride_x <= kMaxStep;
    if (!(are_planes || lie_together) || image.stride_y != image.width * image.stride_x) return;
    if (are_planes) first += c * image.stride_c;
    if (!are_planes) skip = static_cast<int>(c);
    if ((reinterpret_cast<uintptr_t>(first) & 15) == 0) step = static_cast<int>(image.stride_x);
  }

  // Counts pixels 16 by 16, from pixel `begin` on.
  __device__ void count(const ThreadCounts& counts, int64_t begin, int pixels) const {
    if (step == 1) count_by<1>(counts, begin, pixels);
    if (step == 2) count_by<2>(counts, begin, pixels);
    if (step == 3) count_by<3>(counts, begin, pixels);
    if (step == 4) count_by<4>(counts, begin, pixels);
  }

 private:
  template <int kStep>
  __device__ void count_by(const ThreadCounts& counts, int64_t begin, int pixels) const {
    const auto* const from = reinterpret_cast<const uint4*>(first + begin * kStep);
    for (int i = threadIdx.x; i < pixels / 16; i += kThreads) {
      uint32_t words[4 * kStep + 1];
#pragma unroll
      for (int k = 0; k < kStep; ++k) {
        const uint4 loaded = from[i * kStep + k];
        words[4 * k] = loaded.x, words[4 * k + 1] = loaded.y;
        words[4 * k + 2] = loaded.z, words[4 * k + 3] = loaded.w;
      }
      words[4 * kStep] = 0;
      if (kStep > 1) shift_bytes<4 * kStep>(words, skip, words);
#pragma unroll
      for (int k = 0; k < 16; ++k) counts.add(words[k * kStep / 4] >> k * kStep % 4 * 8 & 0xff);
    }
  }
};

// A block owns rounds of up to 30,720 pixels of a channel; a thread counts up to 240 of them in
// bytes of its own, without atomics. 32 KiB of shared memory.
__global__ void __launch_bounds__(kThreads, 1) histogram_kernel(const HistogramArguments a) {
  __shared__ __align__(16) uint32_t words[kLevels / 4 * kThreads];
  const ThreadCounts counts{words};
  const int64_t jobs = a.source.count * a.source.channels;
  for (int64_t job = blockIdx.y; job < jobs; job += gridDim.y) {
    const int64_t n = job / a.source.channels, c = job - n * a.source.channels;
    if (a.skips(n)) continue;
    const Image<const uint8_t> image = a.source[n];
    const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
    const PixelRun run(image, c);
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * kRoundPixels; first < pixels;
         first += static_cast<int64_t>(gridDim.x) * kRoundPixels) {
      const int64_t left = pixels - first;
      const int count = static_cast<int>(left < kRoundPixels ? left : kRoundPixels);
      counts.clear();
      __syncthreads();
      const int counted = run.step == 0 ? 0 : count / 16 * 16;
      run.count(counts, first, counted);
      for (int p = counted + static_cast<int>(threadIdx.x); p < count; p += kThreads) {
        const int64_t at = first + p, y = at / image.width;
        counts.add(image.at(static_cast<int>(y), static_cast<int>(at - y * image.width), c));
      }
      __syncthreads();
      counts.add_to(reinterpret_cast<unsigned long long*>(a.counts) + job * kLevels);
      __syncthreads();
    }
  }
}

constexpr int kLutThreads = 256;
constexpr int kLevelsOfLane = kLevels / kWarp;

// A warp owns a LUT, a lane 8 neighboring levels.
__global__ void __launch_bounds__(kLutThreads, 1) luts_kernel(const MakeLut op, int64_t luts) {
  constexpr int kLuts = kLutThreads / kWarp;
  const int first = static_cast<int>(threadIdx.x % kWarp) * kLevelsOfLane;
  for (int64_t lut = int64_t{blockIdx.x} * kLuts + threadIdx.x / kWarp; lut < luts;
       lut += int64_t{gridDim.x} * kLuts) {
    uint8_t* const to = op.luts + lut * kLevels + first;
    if (op.kind == LutKind::kGamma) {
      const int64_t n = lut / op.channels;
      const double exponent = op.factor.of(n), times = op.gain.of(n);
      for (int i = 0; i < kLevelsOfLane; ++i) to[i] = gamma_level(first + i, exponent, times);
      continue;
    }
    const int64_t* const from = op.counts + lut * kLevels + first;
    int64_t counts[kLevelsOfLane];
    Levels levels;
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      counts[i] = from[i];
      levels.add(first + i, counts[i]);
    }
    int64_t before = warp_exclusive_sum(levels.total);
    const LutRule rule(op.kind, warp_reduce(levels, [](Levels all, const Levels& other) {
                         all.add(other);
                         return all;
                       }));
#pragma unroll
    for (int i = 0; i < kLevelsOfLane; ++i) {
      to[i] = rule(first + i, before, counts[i]);
      before += counts[i];
    }
  }
}

}  // namespace

int histogram_cuda(const HistogramArguments& a, void* stream) {
  const int64_t jobs = a.source.count * a.source.channels;
  const int64_t pixels = a.source.layout == nullptr ? int64_t{a.source.height} * a.source.width
                                                    : a.source.numel / (jobs > 0 ? jobs : 1);
  const int64_t rounds = pixels / kRoundPixels + 1;
  return launch(
      histogram_kernel,
      dim3(static_cast<unsigned>(rounds < kMaxRounds ? rounds : kMaxRounds), grid_blocks(jobs)),
      dim3(kThreads), 0, stream, a);
}

int apply_lut_cuda(const ApplyLut& op, void* stream) { return run_pointwise_cuda(op, stream); }

int make_luts_cuda(const MakeLut& op, int64_t count, void* stream) {
  const int64_t luts = count * op.channels, blocks = (luts * kWarp + kLutThreads - 1) / kLutThreads;
  return launch(luts_kernel, dim3(grid_blocks(blocks)), dim3(kLutThreads), 0, stream, op, luts);
}

}  // namespace orbbec
