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

// Moves the arguments of a boxed call into `fields`, in the order of the schema, and returns the
// arguments that follow.
template <class... Field>
StableIValue* unpack(StableIValue* stack, Field&... fields) {
  ((fields = torch::stable::detail::to<Field>(*stack++)), ...);
  return stack;
}

// Leaves the results of a boxed call, in the order of the schema.
template <class... Result>
void give(StableIValue* stack, const Result&... results) {
  ((*stack++ = torch::stable::detail::from(results)), ...);
}

}  // namespace orbbec
