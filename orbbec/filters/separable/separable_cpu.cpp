#include "../targets.h"
#include "strips.h"
#include "taps.h"

namespace orbbec {
namespace {

template <template <class> class Rule>
void run_scalar(const SeparableArguments& arguments, const ParallelFor& parallel) {
  dispatch_separable<Rule>(arguments, in_floats_only([&](const auto& op) {
                             using OpRule = typename std::decay_t<decltype(op)>::Rule;
                             run_separable<VectorPasses<ScalarTarget, OpRule>>(op, parallel);
                           }));
}

}  // namespace

template <>
void gaussian_blur_on<ScalarTarget>(const SeparableArguments& arguments,
                                    const ParallelFor& parallel) {
  run_scalar<GaussianRule>(arguments, parallel);
}

template <>
void box_blur_on<ScalarTarget>(const SeparableArguments& arguments, const ParallelFor& parallel) {
  run_scalar<BoxRule>(arguments, parallel);
}

void gaussian_blur_cpu(const SeparableArguments& arguments, const ParallelFor& parallel) {
  on_best_target([&](auto target) { gaussian_blur_on<decltype(target)>(arguments, parallel); });
}

void box_blur_cpu(const SeparableArguments& arguments, const ParallelFor& parallel) {
  on_best_target([&](auto target) { box_blur_on<decltype(target)>(arguments, parallel); });
}

void gaussian_taps_cpu(const TapsArguments& arguments, const ParallelFor& parallel) {
  dispatch_taps(arguments, [&](const auto& taps) {
    for_each_item_cpu(taps, arguments.count, 2, 8 * arguments.longest, parallel);
  });
}

}  // namespace orbbec
