#include "targets.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma")
#include "../executors/simd/avx2.h"
#include "filter_strips.h"
#include "median_strips.h"
#include "separable/box_bytes.h"
#include "separable/byte_passes.h"
#include "separable/bytes_avx2.h"

namespace orbbec {
namespace {

template <>
struct SumsOf<Avx2Target, float> {
  using Type = VectorSums<Avx2>;
};

}  // namespace

template <>
void gaussian_blur_on<Avx2Target>(const SeparableArguments& arguments,
                                  const ParallelFor& parallel) {
  dispatch_separable<GaussianRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BytePasses<BytesAvx2>, VectorPasses<Avx2Target, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void box_blur_on<Avx2Target>(const SeparableArguments& arguments, const ParallelFor& parallel) {
  dispatch_separable<BoxRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BoxBytes<Avx2Target>, VectorPasses<Avx2Target, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void filter2d_on<Avx2Target>(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<Avx2Target>(arguments, parallel);
}

template <>
void median_blur_on<Avx2Target>(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<Avx2Target>(arguments, parallel);
}

}  // namespace orbbec
#endif
