// Calls of filters from C++. Included by plan/binding_passes.h and warpaffine/elastic/binding.cpp.
#pragma once

#include "../bridge/operator_call.h"
#include "separable/separable.h"

namespace orbbec {

// Sigma; height and width of the kernel, which are numbers for all.
Tensor run_gaussian_blur(const OperatorCall& call);

// The arguments of gaussian_blur, and the tensors that they point to.
struct PreparedBlur {
  SeparableArguments arguments;
  Tensor taps, sizes, row_sums;
};

// `arguments` has images, dtype and border; `output` is their output. As in the operator, the sizes
// are (height, width) for all images or each, and `sigma` is float64 [N, 2] or [1, 2].
PreparedBlur prepare_gaussian_blur(SeparableArguments arguments, const std::vector<int64_t>& sizes,
                                   const Tensor& sigma, const Tensor& output);

}  // namespace orbbec
