// The filters of this folder compiled for each kind of machine. Included, above the target, by the
// .cpp files.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "../core/executor_cpu.h"
#include "window.h"

namespace orbbec {

struct SeparableArguments;
struct FilterArguments;
struct MedianArguments;

struct PlainMachine {};
struct Avx2Machine {};
struct Avx512Machine {};

template <class Machine>
void gaussian_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel);
template <class Machine>
void box_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel);
template <class Machine>
void filter2d_on(const FilterArguments& arguments, const ParallelFor& parallel);
template <class Machine>
void median_blur_on(const MedianArguments& arguments, const ParallelFor& parallel);

// run(machine), of the best kind that this one is.
template <class Run>
void on_this_machine(const Run& run) {
#if defined(__x86_64__)
  if (simd_level() == Simd::kAvx512) return run(Avx512Machine{});
  if (simd_level() == Simd::kAvx2) return run(Avx2Machine{});
#endif
  run(PlainMachine{});
}

}  // namespace orbbec
