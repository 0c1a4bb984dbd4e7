// The part of torch's stable ABI that the bindings use, under short names. Only bindings include
// it.
#pragma once

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace orbbec {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// A text argument of a boxed call. std::string leaks there: torch's conversion does not delete it.
struct Text : std::string {
  using std::string::string;
};

}  // namespace orbbec

template <>
struct torch::stable::detail::ToImpl<orbbec::Text> {
  static orbbec::Text call(StableIValue value, uint64_t, bool) {
    const auto handle = to<StringHandle>(value);
    const char* text = nullptr;
    size_t length = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_string_c_str(handle, &text));
    STABLE_TORCH_ERROR_CODE_CHECK(torch_string_length(handle, &length));
    const orbbec::Text result(text, length);
    STABLE_TORCH_ERROR_CODE_CHECK(torch_delete_string(handle));
    return result;
  }
};

namespace orbbec {

// Moves the arguments of a boxed call into `fields`, in the order of the schema, and returns the
// arguments that follow.
template <class... Field>
StableIValue* unpack(StableIValue* stack, Field&... fields) {
  using torch::stable::detail::to;
  ((fields = to<std::conditional_t<std::is_same_v<Field, std::string>, Text, Field>>(*stack++)),
   ...);
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
