// One pass over the boxes after one was taken: lowers their scores and finds the next. Included by
// soft_nms_cpu.cpp and the vectorised files.
#pragma once

#include "../../executors/executor_cpu.h"
#include "soft_nms.h"

namespace orbbec {

template <class F>
using SoftNmsSweep = SoftNmsBest<F> (*)(const SoftNmsRule<F>& rule,
                                        const SoftNmsColumns<F>& columns, int count,
                                        const Box<F>& best);

SoftNmsBest<float> soft_nms_sweep_avx2(const SoftNmsRule<float>& rule,
                                       const SoftNmsColumns<float>& columns, int count,
                                       const Box<float>& best);
SoftNmsBest<float> soft_nms_sweep_avx512(const SoftNmsRule<float>& rule,
                                         const SoftNmsColumns<float>& columns, int count,
                                         const Box<float>& best);

}  // namespace orbbec
