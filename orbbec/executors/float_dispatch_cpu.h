// Dispatch to kernels of the CPU that have no half precision: their bindings widen it
// (bridge/float_images.h). Included by *_cpu.cpp and headers of kernels.
#pragma once

#include <type_traits>

#include "simd/halves.h"

namespace orbbec {

// Whether a functor reads half precision, or a pixel has it.
template <class Op>
consteval bool has_halves() {
  if constexpr (requires { typename Op::Value; }) {
    return kIsHalf<typename Op::Value>;
  } else if constexpr (requires(const Op& op) { op.source[0].data; }) {
    return kIsHalf<std::decay_t<decltype(std::declval<Op>().source[0].data[0])>>;
  } else {
    return kIsHalf<Op>;
  }
}

// `run` for a dispatch over the dtypes, compiled without half precision.
template <class Run>
auto in_floats_only(const Run& run) {
  return [&run](const auto& op) {
    if constexpr (!has_halves<std::decay_t<decltype(op)>>()) run(op);
    return 0;
  };
}

}  // namespace orbbec
