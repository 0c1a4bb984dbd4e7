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

// Before the implementations of operators, `{ m.impl(...); ... }`, which serve tensors on the CPU
// and on CUDA. Once per file.
#define ORBBEC_IMPLEMENT(m)                                                \
  template <class Library>                                                 \
  static void implement(Library& m);                                       \
  STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, library) { implement(library); }  \
  STABLE_TORCH_LIBRARY_IMPL(orbbec, CUDA, library) { implement(library); } \
  template <class Library>                                                 \
  static void implement(Library& m)
