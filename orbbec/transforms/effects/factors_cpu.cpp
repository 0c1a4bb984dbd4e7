#include "../../executors/executor_cpu.h"
#include "factors.h"

namespace orbbec {
namespace {

constexpr int kBlock = 256;  // columns whose numbers are repeated per channel, in the L1 cache

template <class T>
struct FactorRow {
  Image<const T> from;
  Image<T> to;
  const float* factors;
  const float* shifts;
  int64_t channels;
};

template <class T>
ORBBEC_HD void scale_values(const T* __restrict from, const float* __restrict factors,
                            const float* __restrict shifts, T* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = scaled_and_shifted(from[i], factors[i], shifts[i]);
}

ORBBEC_HD void repeat_by_3(const float* __restrict from, float* __restrict to, int count) {
  for (int x = 0; x < count; ++x) to[3 * x] = to[3 * x + 1] = to[3 * x + 2] = from[x];
}

// A row, in blocks: factors of packed RGB are repeated, so that the loops over values have vectors.
template <class T>
ORBBEC_HD void scale_row(const FactorRow<T>& row, int y) {
  const Image<const T> from = row.from;
  const Image<T> to = row.to;
  const bool is_rgb = row.channels == 3 && from.stride_x == 3 && from.stride_c == 1 &&
                      to.stride_x == 3 && to.stride_c == 1;
  const bool in_planes = from.stride_x == 1 && to.stride_x == 1;
  float zeros[kBlock] = {}, factors_of_3[3 * kBlock], shifts_of_3[3 * kBlock] = {};
  for (int x = 0; x < to.width; x += kBlock) {
    const int count = to.width - x < kBlock ? to.width - x : kBlock;
    const int64_t at = static_cast<int64_t>(y) * to.width + x;
    const float* const factors = row.factors + at;
    const float* const shifts = row.shifts == nullptr ? zeros : row.shifts + at;
    if (is_rgb) {
      repeat_by_3(factors, factors_of_3, count);
      if (row.shifts != nullptr) repeat_by_3(shifts, shifts_of_3, count);
      scale_values(&from.at(y, x, 0), factors_of_3, shifts_of_3, &to.at(y, x, 0), 3 * count);
      continue;
    }
    for (int64_t c = 0; c < row.channels; ++c) {
      if (in_planes) {
        scale_values(&from.at(y, x, c), factors, shifts, &to.at(y, x, c), count);
        continue;
      }
      for (int i = 0; i < count; ++i)
        to.at(y, x + i, c) = scaled_and_shifted(from.at(y, x + i, c), factors[i], shifts[i]);
    }
  }
}

template <class T>
void scale_images(const FactorArguments& a, const ParallelFor& parallel) {
  const auto scale = compiled_to_avx512<scale_row<T>>(simd_level());
  const AnyImages& o = a.output;
  const int64_t pixels = static_cast<int64_t>(o.height) * o.width;
  for_each_row_cpu(o.count, o.height, o.width * o.channels, parallel, [&](int64_t n, int y) {
    const float* const shifts = a.shifts == nullptr ? nullptr : a.shifts + n * pixels;
    scale(
        {Images<const T>(a.source)[n], Images<T>(o)[n], a.factors + n * pixels, shifts, o.channels},
        y);
  });
}

}  // namespace

void scale_by_factors_cpu(const FactorArguments& a, const ParallelFor& parallel) {
  a.dtype == DType::kUInt8 ? scale_images<uint8_t>(a, parallel) : scale_images<float>(a, parallel);
}

}  // namespace orbbec
