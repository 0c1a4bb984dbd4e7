#include "median_strips.h"
#include "targets.h"

namespace orbbec {

template <>
void median_blur_on<ScalarTarget>(const MedianArguments& arguments, const ParallelFor& parallel) {
  run_median<ScalarTarget>(arguments, parallel);
}

void median_blur_cpu(const MedianArguments& arguments, const ParallelFor& parallel) {
  on_best_target([&](auto target) { median_blur_on<decltype(target)>(arguments, parallel); });
}

}  // namespace orbbec
