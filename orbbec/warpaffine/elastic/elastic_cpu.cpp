#include "elastic_strips.h"
#include "elastic_targets.h"

namespace orbbec {

template void elastic_on<ScalarTarget>(const ElasticArguments&, DrawRun, const ParallelFor&);

void elastic_displacement_cpu(const ElasticArguments& arguments, const ParallelFor& parallel) {
  const DrawRun draw = draw_run<Noise::kCentered>(simd_level());
  on_best_target([&](auto target) { elastic_on<decltype(target)>(arguments, draw, parallel); });
}

}  // namespace orbbec
