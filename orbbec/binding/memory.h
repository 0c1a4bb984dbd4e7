// Tensors that an operator makes: where there is no memory the error names it, and not the call of
// torch's ABI.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

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

// On the device of `place`. `torch::stable::empty` looks its operator up by name at each call.
inline Tensor new_tensor(const char* op, Shape shape, ScalarType type, const Tensor& place) {
  using torch::stable::detail::from;
  using torch::stable::detail::to;
  std::vector<int64_t> strides(shape.size(), 1);
  const auto device = place.device();
  return allocated(op, shape, [&] {
    for (size_t i = strides.size(); i-- > 1;) {
      const int64_t size = std::max<int64_t>(shape[i], 1);
      if (__builtin_mul_overflow(strides[i], size, &strides[i - 1]))
        throw std::runtime_error("too large");
    }
    AtenTensorHandle made;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
        static_cast<int64_t>(shape.size()), shape.data(), strides.data(), to<int32_t>(from(type)),
        to<int32_t>(from(device.type())), device.index(), &made));
    return Tensor(made);
  });
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
