// Kernels with a planted fault each; the argument chooses. A test looks for what is reported.
#include <cstdio>
#include <cstring>
#include <vector>

#include "orbbec/executors/cuda/launch.h"

namespace {

using orbbec::dynamic_shared;
using orbbec::launch;

__global__ void write_past_the_end(int* out) {
  out[threadIdx.x + 1] = 1;  // fault: global write
}

__global__ void read_past_the_end(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x + 1];  // fault: global read
}

__global__ void overflow_dynamic_shared(int* out) {
  int* part = dynamic_shared<int>();
  part[threadIdx.x + 1] = 1;  // fault: dynamic shared write
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}

template <class T>
__global__ void overflow_static_shared(T* out) {
  __shared__ T part[32];
  T* past = part + 1;
  past[threadIdx.x] = 1;  // fault: static shared write
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}

__global__ void load_misaligned(const char* in, int* out) {
  out[threadIdx.x] = *reinterpret_cast<const int*>(in + 1);  // fault: misaligned
}

__global__ void cast_too_large(float value, int* out) {
  out[threadIdx.x] = static_cast<int>(value);  // fault: float cast
}

// Reverses 32 numbers; with a barrier it would be right.
__global__ void reverse_without_barrier(int* out) {
  int* part = dynamic_shared<int>();
  part[threadIdx.x] = static_cast<int>(threadIdx.x);  // fault: race, write
  out[threadIdx.x] = part[31 - threadIdx.x];          // fault: race, read
}

__global__ void reverse_static_without_barrier(int* out) {
  __shared__ int part[32];
  part[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = part[31 - threadIdx.x];  // fault: static race
}

// The second barrier of the loop is missing: a fast thread overwrites what a slow one has to read.
__global__ void write_after_read(int* out) {
  int* part = dynamic_shared<int>();
  for (int round = 0; round < 2; ++round) {
    part[threadIdx.x] = static_cast<int>(threadIdx.x) + round;  // fault: write after read
    __syncthreads();
    out[threadIdx.x] = part[31 - threadIdx.x];
  }
}

__global__ void shuffle_is_no_barrier(int* out) {
  int* part = dynamic_shared<int>();
  part[threadIdx.x] = static_cast<int>(threadIdx.x);
  __shfl_sync(0xffffffffu, 0, 0);
  out[threadIdx.x] = part[31 - threadIdx.x];  // fault: shuffle orders no memory
}

__global__ void vote_is_no_barrier(int* out) {
  const bool none = __all_sync(0xffffffffu, out[0] == 0);
  if (none && threadIdx.x == 5) out[0] = 1;  // fault: vote orders no memory
}

__global__ void read_unwritten_shared(int* out) {
  __shared__ int part[64];
  part[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x + 1];  // fault: never written
}

__global__ void write_same_output(int* out) {
  out[(blockIdx.x * blockDim.x + threadIdx.x) / 2] = 1;  // fault: global race
}

__global__ void write_between_blocks(int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
  if (threadIdx.x == 1 && blockIdx.x > 0) out[blockIdx.x - 1] += 1;  // fault: race of blocks
}

__global__ void return_before_barrier(int* out) {
  if (threadIdx.x == 5) return;
  __syncthreads();  // fault: barrier after return
  out[threadIdx.x] = 1;
}

__global__ void wait_at_two_barriers(int* out) {
  if (threadIdx.x < 16) {
    __syncthreads();  // fault: one barrier
  } else {
    __syncthreads();  // fault: another barrier
  }
  out[threadIdx.x] = 1;
}

__global__ void shuffle_outside_mask(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0);  // fault: own lane
}

__global__ void shuffle_from_outside_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);  // fault: source lane
}

__global__ void shuffle_without_all(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);  // fault: lanes missing
  __syncthreads();
}

}  // namespace

int main(int, char** arguments) {
  const char* name = arguments[1];
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  std::vector<int> in(32), out(64);
  std::vector<float> floats(32);
  out.resize(32);
  out.shrink_to_fit();
  int status = -1;
  constexpr size_t kShared = 32 * sizeof(int);
  if (is("write_past_the_end")) status = launch(write_past_the_end, 1, 32, 0, nullptr, out.data());
  if (is("read_past_the_end")) {
    status = launch(read_past_the_end, 1, 32, 0, nullptr, in.data(), out.data());
  }
  if (is("overflow_static_shared")) {
    status = launch(overflow_static_shared<float>, 1, 32, 0, nullptr, floats.data());
  }
  if (is("load_misaligned")) {
    status =
        launch(load_misaligned, 1, 1, 0, nullptr, reinterpret_cast<char*>(in.data()), out.data());
  }
  if (is("cast_too_large")) status = launch(cast_too_large, 1, 1, 0, nullptr, 3e9f, out.data());
  const struct {
    const char* name;
    void (*kernel)(int*);
    unsigned blocks;
    size_t shared_bytes;
  } others[] = {
      {"overflow_dynamic_shared", overflow_dynamic_shared, 1, kShared},
      {"reverse_without_barrier", reverse_without_barrier, 1, kShared},
      {"reverse_static_without_barrier", reverse_static_without_barrier, 1, 0},
      {"write_after_read", write_after_read, 1, kShared},
      {"shuffle_is_no_barrier", shuffle_is_no_barrier, 1, kShared},
      {"vote_is_no_barrier", vote_is_no_barrier, 1, 0},
      {"read_unwritten_shared", read_unwritten_shared, 1, 0},
      {"write_same_output", write_same_output, 1, 0},
      {"write_between_blocks", write_between_blocks, 4, 0},
      {"return_before_barrier", return_before_barrier, 1, 0},
      {"wait_at_two_barriers", wait_at_two_barriers, 1, 0},
      {"shuffle_outside_mask", shuffle_outside_mask, 1, 0},
      {"shuffle_from_outside_mask", shuffle_from_outside_mask, 1, 0},
      {"shuffle_without_all", shuffle_without_all, 1, 0},
  };
  for (const auto& other : others) {
    if (is(other.name)) {
      status = launch(other.kernel, other.blocks, 32, other.shared_bytes, nullptr, out.data());
    }
  }
  for (int value : out) std::printf("%d ", value);
  return status;
}
