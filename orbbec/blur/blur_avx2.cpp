#include "machines.h"

#if defined(__x86_64__)
// What stands above is compiled for every machine; what stands below, for those that have this.
#pragma GCC target("avx2,fma")
#include "../core/simd_avx2.h"
#include "box_bytes.h"
#include "byte_passes.h"
#include "bytes_avx2.h"
#include "filter_strips.h"
#include "median_strips.h"

namespace orbbec {
namespace {

template <>
struct SumsOf<Avx2Machine, float> {
  using Type = VectorSums<Avx2>;
};

}  // namespace

template <>
void gaussian_blur_on<Avx2Machine>(const SeparableArguments& arguments,
                                   const ParallelFor& parallel) {
  dispatch_separable<GaussianRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BytePasses<BytesAvx2>, VectorPasses<Avx2Machine, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void box_blur_on<Avx2Machine>(const SeparableArguments& arguments, const ParallelFor& parallel) {
  dispatch_separable<BoxRule>(arguments, [&](const auto& op) {
    using Rule = typename std::decay_t<decltype(op)>::Rule;
    using Passes = std::conditional_t<std::is_same_v<typename Rule::Value, uint8_t>,
                                      BoxBytes<Avx2Machine>, VectorPasses<Avx2Machine, Rule>>;
    run_separable<Passes>(op, parallel);
    return 0;
  });
}

template <>
void filter2d_on<Avx2Machine>(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<Avx2Machine>(arguments, parallel);
}

template <>
void median_blur_on<Avx2Machine>(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<Avx2Machine>(arguments, parallel);
}

}  // namespace orbbec
#endif
