// Kernels whose limits are known, for test_gpu_model.py. A block has 256 threads.

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
