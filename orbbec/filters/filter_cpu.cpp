#include "filter_strips.h"
#include "targets.h"

namespace orbbec {

template <>
void filter2d_on<ScalarTarget>(const FilterArguments& arguments, const ParallelFor& parallel) {
  run_filter<ScalarTarget>(arguments, parallel);
}

void filter2d_cpu(const FilterArguments& arguments, const ParallelFor& parallel) {
  on_best_target([&](auto target) { filter2d_on<decltype(target)>(arguments, parallel); });
}

}  // namespace orbbec
