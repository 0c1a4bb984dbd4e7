// The filters of this folder for each target. Included by the .cpp files, above the target pragma.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "../executors/executor_cpu.h"
#include "window.h"

namespace orbbec {

struct SeparableArguments;
struct FilterArguments;
struct MedianArguments;

// Vectors of floats, and of 16-bit numbers for gaussian_blur of bytes.
struct Avx2;
struct Avx512;
struct BytesAvx2;
struct BytesAvx512;

// kVectorBytes: of compiler vectors that are one register. Longer ones are spilled at each
// operation.
struct ScalarTarget {
  static constexpr int kVectorBytes = 16;
};
struct Avx2Target {
  static constexpr int kVectorBytes = 32;
  using Floats = Avx2;
  using Bytes = BytesAvx2;
};
struct Avx512Target {
  static constexpr int kVectorBytes = 64;
  using Floats = Avx512;
  using Bytes = BytesAvx512;
};

template <class Target>
void gaussian_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel);
template <class Target>
void box_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel);
template <class Target>
void filter2d_on(const FilterArguments& arguments, const ParallelFor& parallel);
template <class Target>
void median_blur_on(const MedianArguments& arguments, const ParallelFor& parallel);

template <class Target, class Number>
struct VectorOf {
  static constexpr int kLanes = Target::kVectorBytes / sizeof(Number);
  typedef Number Type __attribute__((vector_size(Target::kVectorBytes)));
};

// Calls run(target) with the best target that this CPU supports.
template <class Run>
void on_best_target(const Run& run) {
#if defined(__x86_64__)
  if (simd_level() == Simd::kAvx512) return run(Avx512Target{});
  if (simd_level() == Simd::kAvx2) return run(Avx2Target{});
#endif
  run(ScalarTarget{});
}

}  // namespace orbbec
