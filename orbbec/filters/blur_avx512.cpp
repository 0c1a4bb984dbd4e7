#include "targets.h"

#if defined(__x86_64__)
// Code above is compiled for every target, code below for this one only.
#pragma GCC target("avx2,fma,avx512f,avx512bw")
#include "../executors/simd/avx512.h"
#include "filter_strips.h"
#include "median_strips.h"
#include "separable/box_bytes.h"
#include "separable/byte_passes.h"
#include "separable/bytes_avx512.h"

namespace orbbec {
namespace {

template <>
struct SumsOf<Avx512Target, float> {
  using Type = VectorSums<Avx512>;
};

}  // namespace

template <>
void gaussian_blur_on<Avx512Target>(const SeparableArguments& arguments,
                                    const ParallelFor& parallel) {
  dispatch_separable<GaussianRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BytePasses<BytesAvx512>, VectorPasses<Avx512Target, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void box_blur_on<Avx512Target>(const SeparableArguments& arguments, const ParallelFor& parallel) {
  dispatch_separable<BoxRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BoxBytes<Avx512Target>, VectorPasses<Avx512Target, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void filter2d_on<Avx512Target>(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<Avx512Target>(arguments, parallel);
}

template <>
void median_blur_on<Avx512Target>(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<Avx512Target>(arguments, parallel);
}

}  // namespace orbbec
#endif
