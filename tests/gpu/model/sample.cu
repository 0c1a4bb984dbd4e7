// Kernels whose speed is well known, for test_gpu_model.py. A block has 256 threads unless it says
// otherwise.
#include <cstdint>

constexpr int kTile = 32, kRows = 8;  // of a transpose: a block of 32 x 8 threads moves 32 x 32

extern "C" __global__ void __launch_bounds__(256) copy(const float4* from, float4* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(256)
    normalize(const float* from, float* to, float mean, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = (from[i] - mean) * factor;
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_naive(const float* from, float* to, int side) {
  const int x = blockIdx.x * kTile + threadIdx.x;
  for (int row = 0; row < kTile; row += kRows) {
    const int y = blockIdx.y * kTile + threadIdx.y + row;
    to[x * side + y] = from[y * side + x];
  }
}

template <int kPadding>
__device__ void transpose(const float* from, float* to, int side) {
  __shared__ float tile[kTile][kTile + kPadding];
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
  for (int row = threadIdx.y; row < kTile; row += kRows)
    tile[row][threadIdx.x] = from[(top + row) * side + left + threadIdx.x];
  __syncthreads();
  for (int row = threadIdx.y; row < kTile; row += kRows)
    to[(left + row) * side + top + threadIdx.x] = tile[threadIdx.x][row];
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_tiled(const float* from, float* to, int side) {
  transpose<1>(from, to, side);
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_conflicts(const float* from, float* to, int side) {
  transpose<0>(from, to, side);
}

// Each thread reads a run of its own: a warp touches 32 sectors per load.
extern "C" __global__ void __launch_bounds__(256)
    uncoalesced(const uint8_t* from, uint8_t* to, int count) {
  const int begin = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
  for (int i = begin; i < begin + 64 && i < count; ++i) to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(256)
    division64(const float* from, float* to, long long divisor, long long count) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < count) to[i / divisor] = from[(i + divisor) % count];
}

extern "C" __global__ void __launch_bounds__(256)
    float64(const float* from, float* to, double factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double value = from[i];
  for (int step = 0; step < 16; ++step) value = value * factor + 1.0;
  to[i] = static_cast<float>(value);
}
