// Tensors that an operator makes: where there is no memory the error names it, and not the call of
// torch's ABI.
#pragma once

#include <string>

#include "check.h"

namespace orbbec {

using Shape = torch::headeronly::IntHeaderOnlyArrayRef;

// `make()`, which can fail of memory alone, for its arguments are checked; or of a tensor whose
// bytes no number counts.
template <class Make>
Tensor allocated(const char* op, Shape shape, const Make& make) {
  try {
    return make();
  } catch (const std::runtime_error&) {
    std::ostringstream message;
    message << op << ": not enough memory for a tensor of shape " << shape_text(shape);
    throw std::runtime_error(message.str());
  }
}

// On the device of `place`.
inline Tensor new_tensor(const char* op, Shape shape, ScalarType type, const Tensor& place) {
  return allocated(op, shape,
                   [&] { return torch::stable::empty(shape, type, std::nullopt, place.device()); });
}

inline Tensor new_zeros(const char* op, Shape shape, ScalarType type, const Tensor& place) {
  Tensor fresh = new_tensor(op, shape, type, place);
  return fresh.numel() == 0 ? fresh : torch::stable::zero_(fresh);
}

inline Tensor contiguous(const char* op, const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;  // a call of the dispatcher less
  return allocated(op, tensor.sizes(), [&] { return torch::stable::contiguous(tensor); });
}

// On the device of `place`; the copy may still be under way.
inline Tensor moved_to(const char* op, const Tensor& tensor, const Tensor& place) {
  return allocated(op, tensor.sizes(), [&] {
    return torch::stable::to(tensor, place.device(), /*non_blocking=*/true);
  });
}

inline Tensor converted(const char* op, const Tensor& tensor, ScalarType type) {
  return allocated(op, tensor.sizes(), [&] { return torch::stable::to(tensor, type); });
}

}  // namespace orbbec
