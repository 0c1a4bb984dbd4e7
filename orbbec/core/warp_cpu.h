// Launches a warp on CPU threads. Included by the *_cpu.cpp of the operators that resample.
#pragma once

#include "executor_cpu.h"
#include "warp.h"

namespace orbbec {

template <class Op>
int launch_warp_cpu(const Op& op, const ParallelFor& parallel) {
  for_each_pixel_cpu(op, op.output, parallel);
  return 0;
}

}  // namespace orbbec
