// One pass over the boxes after one was taken: lowers their scores and finds the next. Included by
// soft_nms_cpu.cpp and the vectorized files.
#pragma once

#include "../../executors/executor_cpu.h"
#include "soft_nms.h"

namespace orbbec {

template <class F>
using SoftNmsSweep = SoftNmsBest<F> (*)(const SoftNmsRule<F>& rule,
                                        const SoftNmsColumns<F>& columns, int count,
                                        const Box<F>& best);

struct Avx2;
struct Avx512;
// A sweep with the vectors of `Simd`; `count` is a multiple of the lanes, and padding has no score.
template <class Simd>
SoftNmsBest<float> vector_sweep(const SoftNmsRule<float>& rule,
                                const SoftNmsColumns<float>& columns, int count,
                                const Box<float>& best);

}  // namespace orbbec
