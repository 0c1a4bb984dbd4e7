// Correct kernels, each compared with a loop on the host. Exit status 0: all agree.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "orbbec/executors/cuda/bytes.h"

namespace {

using orbbec::dynamic_shared;
using orbbec::launch;

int failures = 0;

void expect(bool holds, const char* what) {
  if (!holds) std::printf("FAILED %s\n", what);
  failures += !holds;
}

// Every thread of a 3D grid of 3D blocks writes its own index once.
__global__ void write_index(uint64_t* out, dim3 size) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= size.x || y >= size.y || z >= size.z) return;
  out[(uint64_t{z} * size.y + y) * size.x + x] += (uint64_t{z} << 40) + (uint64_t{y} << 20) + x;
}

void indexes_cover_the_grid() {
  const dim3 size(13, 9, 5), block(4, 2, 3);
  std::vector<uint64_t> out(13 * 9 * 5);
  const int status = launch(write_index, dim3(4, 5, 2), block, 0, nullptr, out.data(), size);
  bool same = status == cudaSuccess;
  for (uint64_t i = 0; i < out.size(); ++i) {
    same &= out[i] == (i / 117 << 40) + (i / 13 % 9 << 20) + i % 13;
  }
  expect(same, "indexes_cover_the_grid");
}

// A block reduces its slice in dynamic shared memory, by halves.
__global__ void sum_by_halves(const int* in, int* out) {
  int* part = dynamic_shared<int>();
  const unsigned t = threadIdx.x;
  part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

void barriers_order_a_reduction() {
  std::vector<int> in(7 * 256), out(7);
  std::iota(in.begin(), in.end(), 1);
  launch(sum_by_halves, 7, 256, 256 * sizeof(int), nullptr, in.data(), out.data());
  bool same = true;
  for (int b = 0; b < 7; ++b) {
    same &= out[b] == std::accumulate(in.begin() + b * 256, in.begin() + (b + 1) * 256, 0);
  }
  expect(same, "barriers_order_a_reduction");
}

// A block transposes a tile in static shared memory.
template <class T>
__global__ void transpose(const T* in, T* out) {
  __shared__ T tile[16][17];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

template <class T>
void static_shared_memory_transposes(const char* name) {
  std::vector<T> in(256), out(256);
  std::iota(in.begin(), in.end(), T{});
  launch(transpose<T>, 1, dim3(16, 16), 0, nullptr, in.data(), out.data());
  bool same = true;
  for (int i = 0; i < 256; ++i) same &= out[i] == in[i % 16 * 16 + i / 16];
  expect(same, name);
}

// A warp reduces by shuffles; the results of other shuffles and votes are packed behind the sum.
__global__ void ask_the_warp(const int* in, double* sums, uint64_t* answers) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % 32;
  double sum = in[t];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  sums[t] = sum;
  const int up = __shfl_up_sync(0xffffffffu, lane, 3u);
  const int down = __shfl_down_sync(0xffffffffu, lane, 5u, 8);
  const int from = __shfl_sync(0xffffffffu, lane, 9, 16);
  const unsigned odd = __ballot_sync(0xffffffffu, in[t] & 1);
  const bool any = __any_sync(0xffffffffu, in[t] == 40);
  const bool all = __all_sync(0xffffffffu, in[t] < 64);
  answers[t] = uint64_t{odd} << 32 | up << 24 | down << 16 | from << 8 | any << 1 | all;
}

void warps_shuffle_and_vote() {
  std::vector<int> in(128);
  std::iota(in.begin(), in.end(), 0);
  std::vector<double> sums(128);
  std::vector<uint64_t> answers(128);
  launch(ask_the_warp, 2, 64, 0, nullptr, in.data(), sums.data(), answers.data());
  bool same = true;
  for (int t = 0; t < 128; ++t) {
    const int warp = t / 32, lane = t % 32;
    const int up = lane < 3 ? lane : lane - 3;
    const int down = lane % 8 + 5 > 7 ? lane : lane + 5;
    const int from = lane / 16 * 16 + 9;
    const uint64_t expected = uint64_t{0xaaaaaaaau} << 32 | up << 24 | down << 16 | from << 8 |
                              (warp == 1) << 1 | (warp < 2);
    same &= answers[t] == expected && sums[t] == 32 * (32 * warp) + 496;
  }
  expect(same, "warps_shuffle_and_vote");
}

struct Scan {
  int64_t sum, block_sum;
  int smallest, largest, inclusive, exclusive, block_inclusive, block_total;
};

// Each thread reduces and scans the numbers of its warp and of its block, of three warps.
__global__ void reduce_and_scan(const int* in, Scan* out) {
  __shared__ int64_t sums[3];
  __shared__ int totals[3];
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x), number = in[thread];
  const auto add = [](int64_t a, int64_t b) { return a + b; };
  Scan scan;
  scan.sum = orbbec::warp_sum(int64_t{number});
  scan.smallest = orbbec::warp_min(number);
  scan.largest = orbbec::warp_max(number);
  scan.inclusive = orbbec::warp_inclusive_sum(number);
  scan.exclusive = orbbec::warp_exclusive_sum(number);
  scan.block_sum = orbbec::block_reduce(int64_t{number}, int64_t{0}, add, sums);
  scan.block_inclusive = orbbec::block_inclusive_sum(number, totals, scan.block_total);
  out[thread] = scan;
}

void warps_and_blocks_reduce_and_scan() {
  std::vector<int> in(96);
  for (int i = 0; i < 96; ++i) in[i] = i * 37 % 101 - 50;
  std::vector<Scan> out(96);
  launch(reduce_and_scan, 1, dim3(32, 3), 0, nullptr, in.data(), out.data());
  bool same = true;
  for (int i = 0; i < 96; ++i) {
    const auto first = in.begin() + i / 32 * 32, own = in.begin() + i;
    const int before = std::accumulate(first, own, 0),
              all = std::accumulate(in.begin(), in.end(), 0);
    same &= out[i].sum == std::accumulate(first, first + 32, 0) && out[i].block_sum == all;
    same &= out[i].smallest == *std::min_element(first, first + 32);
    same &= out[i].largest == *std::max_element(first, first + 32);
    same &= out[i].exclusive == before && out[i].inclusive == before + *own;
    same &= out[i].block_inclusive == std::accumulate(in.begin(), own + 1, 0);
    same &= out[i].block_total == all;
  }
  expect(same, "warps_and_blocks_reduce_and_scan");
}

// A thread loads the bytes from an address of its own, and packs them.
__global__ void load_and_pack(const uint8_t* in, uint32_t* out) {
  uint32_t words[3];
  orbbec::load_bytes<8>(in + threadIdx.x, words);
  uint32_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = orbbec::byte_of(words[i / 4], i % 4);
  out[2 * threadIdx.x] = orbbec::load_word(in + threadIdx.x);
  out[2 * threadIdx.x + 1] = orbbec::pack_bytes(bytes[4], bytes[5], bytes[6], bytes[7]);
}

void bytes_load_from_any_address() {
  alignas(8) uint8_t in[32];
  std::iota(in, in + 32, uint8_t{100});
  uint32_t out[32];
  launch(load_and_pack, 1, 16, 0, nullptr, in, out);
  bool same = true;
  for (int i = 0; i < 32; ++i) same &= std::memcmp(&out[i], in + i / 2 + i % 2 * 4, 4) == 0;
  expect(same, "bytes_load_from_any_address");
}

// Half of a warp has returned; the other half diverges into two groups.
__global__ void vote_in_groups(unsigned* out) {
  const int lane = threadIdx.x;
  if (lane >= 16) return;
  if (lane % 2) {
    out[lane] = __ballot_sync(0x0000aaaau, lane > 7);
  } else {
    __syncwarp(0xffff5555u);  // names lanes that have returned
    out[lane] = __shfl_sync(0x00005555u, lane, 4);
  }
}

void groups_of_lanes_meet_apart() {
  std::vector<unsigned> out(16);
  launch(vote_in_groups, 1, 32, 0, nullptr, out.data());
  bool same = true;
  for (int i = 0; i < 16; ++i) same &= out[i] == (i % 2 ? 0xaa00u : 4u);
  expect(same, "groups_of_lanes_meet_apart");
}

// Lanes pass values on through shared memory with warp barriers only.
__global__ void pass_along(int* out) {
  int* slot = dynamic_shared<int>();
  const int t = threadIdx.x, next = t / 32 * 32 + (t + 1) % 32;
  int value = t;
  for (int round = 0; round < 32; ++round) {
    slot[t] = value;
    __syncwarp();
    value = slot[next];
    __syncwarp();
  }
  out[t] = value;
}

void warp_barriers_order_shared_memory() {
  std::vector<int> out(64);
  launch(pass_along, 1, 64, 64 * sizeof(int), nullptr, out.data());
  bool same = true;
  for (int t = 0; t < 64; ++t) same &= out[t] == t;
  expect(same, "warp_barriers_order_shared_memory");
}

__global__ void count_in(int* sum, unsigned* largest, unsigned long long* bits, float* total,
                         int* counts) {
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&local, 1);
  atomicAdd(sum, t);
  atomicMax(largest, static_cast<unsigned>(t));
  atomicOr(bits, 1ull << t % 64);
  atomicAdd(total, 0.5f);
  if (threadIdx.x == 0) atomicCAS(counts + 3, 0, 7);
  const int threes = __syncthreads_count(t % 3 == 0);
  const int any = __syncthreads_or(t == 50);
  const int all = __syncthreads_and(t < 150);
  if (threadIdx.x == 0) {
    atomicAdd(counts, threes);
    atomicAdd(counts + 1, any);
    atomicAdd(counts + 2, all);
    atomicAdd(counts + 4, local);
  }
}

void atomics_and_block_votes_count() {
  int sum = 0, counts[5] = {};
  unsigned largest = 0;
  unsigned long long bits = 0;
  float total = 0;
  launch(count_in, 2, 100, 0, nullptr, &sum, &largest, &bits, &total, counts);
  expect(sum == 199 * 100 && largest == 199 && bits == ~0ull && total == 100, "atomics_count");
  expect(counts[0] == 67 && counts[1] == 1 && counts[2] == 1 && counts[3] == 7 && counts[4] == 200,
         "block_votes_count");
}

// More blocks than 65535, offsets past 2^32 (of a buffer that is mapped but mostly not resident).
__global__ void mark_far(char* out, int64_t step) {
  if (threadIdx.x == 0 && blockIdx.x % 10000 == 0) out[blockIdx.x * step] = 1;
}

void big_grids_reach_far() {
  const int64_t step = 70001, blocks = 70001;
  auto* out = static_cast<char*>(std::calloc(blocks * step, 1));
  if (out == nullptr) return expect(false, "big_grids_reach_far: no address space");
  launch(mark_far, static_cast<unsigned>(blocks), 2, 0, nullptr, out, step);
  bool same = true;
  for (int64_t b = 0; b < blocks; b += 10000) same &= out[b * step] == 1;
  expect(same, "big_grids_reach_far");
  std::free(out);
}

__global__ void convert(const float* in, int* out) {
  out[threadIdx.x] = __float2int_rn(__fmaf_rn(in[threadIdx.x], 2.0f, 0.5f));
}

// Of each warp, all lanes read a word, one changes it, and all read it again.
__global__ void change_the_word(int* words, int* out) {
  int* const word = words + threadIdx.x / 32;
  const int before = *word;
  __syncwarp();
  if (threadIdx.x % 32 == 7) *word = before + 1;
  __syncwarp();
  out[threadIdx.x] = *word;
}

void warp_barriers_order_global_memory() {
  std::vector<int> words{3, 5}, out(40);
  launch(change_the_word, 1, 40, 0, nullptr, words.data(), out.data());
  bool same = true;
  for (int t = 0; t < 40; ++t) same &= out[t] == (t < 32 ? 4 : 6);
  expect(same, "warp_barriers_order_global_memory");
}

void conversions_saturate() {
  const float in[] = {0.0f, 0.5f, 1.0f, -0.5f, 1e20f, -1e20f, NAN};
  int out[7];
  launch(convert, 1, 7, 0, nullptr, in, out);
  expect(out[0] == 0 && out[1] == 2 && out[2] == 2 && out[3] == 0 && out[4] == INT32_MAX &&
             out[5] == INT32_MIN && out[6] == 0,
         "conversions_saturate");
}

void launches_report_what_is_wrong() {
  std::vector<int> in(1024), out(1);
  const auto status = [&](dim3 grid, dim3 block, size_t shared) {
    return launch(sum_by_halves, grid, block, shared, nullptr, in.data(), out.data());
  };
  expect(status(dim3(0, 1), 64, 256) == cudaSuccess, "an_empty_grid_is_no_error");
  expect(status(1, 1025, 4100) == cudaErrorInvalidConfiguration, "a_block_too_large_is_an_error");
  expect(status(dim3(1, 65536), 1, 4) == cudaErrorInvalidConfiguration, "a_grid_too_tall");
  expect(status(1, 1, 65 * 1024) == cudaErrorInvalidValue, "too_much_shared_memory_is_an_error");
  expect(status(1, 64, 64 * 1024) == cudaSuccess, "launch_asks_for_much_shared_memory");
  expect(cudaGetLastError() == cudaSuccess, "launch_leaves_no_error_behind");
}

}  // namespace

int main() {
  indexes_cover_the_grid();
  barriers_order_a_reduction();
  static_shared_memory_transposes<float>("static_shared_memory_transposes_float");
  static_shared_memory_transposes<uint16_t>("static_shared_memory_transposes_uint16");
  warps_shuffle_and_vote();
  warps_and_blocks_reduce_and_scan();
  bytes_load_from_any_address();
  groups_of_lanes_meet_apart();
  warp_barriers_order_shared_memory();
  warp_barriers_order_global_memory();
  atomics_and_block_votes_count();
  big_grids_reach_far();
  conversions_saturate();
  launches_report_what_is_wrong();
  std::printf(failures == 0 ? "all agree\n" : "%d failed\n", failures);
  return failures != 0;
}
