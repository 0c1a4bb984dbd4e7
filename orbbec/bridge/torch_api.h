// The part of torch's stable ABI that the bindings use, under short names. Only bindings include
// it.
#pragma once

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <vector>

namespace orbbec {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

}  // namespace orbbec
