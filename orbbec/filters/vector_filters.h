// The filters on vectors. Included by blur_avx2.cpp and blur_avx512.cpp, under their targets, for
// which they instantiate them.
#pragma once

#include "filter_strips.h"
#include "median_strips.h"
#include "separable/box_bytes.h"
#include "separable/byte_passes.h"

namespace orbbec {
namespace {

template <class Target>
struct SumsOf<Target, float> {
  using Type = VectorSums<typename Target::Floats>;
};

// Bytes have passes of their own.
template <class Target, template <class> class Rule, class PassesOfBytes>
void run_passes(const SeparableArguments& arguments, const ParallelFor& parallel) {
  dispatch_separable<Rule>(
      arguments, in_floats_only([&](const auto& op) {
        using OpRule = typename std::decay_t<decltype(op)>::Rule;
        constexpr bool kIsByte = std::is_same_v<typename OpRule::Value, uint8_t>;
        using Passes = std::conditional_t<kIsByte, PassesOfBytes, VectorPasses<Target, OpRule>>;
        run_separable<Passes>(op, parallel);
      }));
}

}  // namespace

template <class Target>
void gaussian_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel) {
  run_passes<Target, GaussianRule, BytePasses<typename Target::Bytes>>(arguments, parallel);
}

template <class Target>
void box_blur_on(const SeparableArguments& arguments, const ParallelFor& parallel) {
  run_passes<Target, BoxRule, BoxBytes<Target>>(arguments, parallel);
}

template <class Target>
void filter2d_on(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<Target>(arguments, parallel);
}

template <class Target>
void median_blur_on(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<Target>(arguments, parallel);
}

}  // namespace orbbec
