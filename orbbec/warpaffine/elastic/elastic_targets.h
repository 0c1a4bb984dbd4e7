// The displacements for each target. Included by the .cpp files, above the target pragma.
#pragma once

#include "../../executors/noise_runs_cpu.h"
#include "../../filters/targets.h"

namespace orbbec {

struct ElasticArguments;

// `draw` gives the noise.
template <class Target>
void elastic_on(const ElasticArguments& arguments, DrawRun draw, const ParallelFor& parallel);

}  // namespace orbbec
