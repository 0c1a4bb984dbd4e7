// Allocation of tensors. Out-of-memory errors name the operator instead of a function of torch's
// ABI.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "device.h"

namespace orbbec {

using Shape = torch::headeronly::IntHeaderOnlyArrayRef;

// `make()` whose arguments are checked, so that it can only fail for lack of memory or a size that
// overflows.
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

// On the device of `like`. `torch::stable::empty` would look up its operator by name on every call.
inline Tensor new_tensor(const char* op, Shape shape, ScalarType type, const Tensor& like,
                         bool channels_last = false) {
  using torch::stable::detail::from;
  using torch::stable::detail::to;
  constexpr std::array<size_t, 4> kChannelsLast{1, 3, 2,
                                                0};  // of 4 dimensions, the innermost first
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank);
  const auto device = like.device();
  return allocated(op, shape, [&] {
    int64_t stride = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t d = channels_last ? kChannelsLast[i] + rank - 4 : rank - 1 - i;
      strides[d] = stride;
      if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[d], 1), &stride))
        throw std::runtime_error("too large");
    }
    AtenTensorHandle handle;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
        static_cast<int64_t>(rank), shape.data(), strides.data(), to<int32_t>(from(type)),
        to<int32_t>(from(device.type())), device.index(), &handle));
    return Tensor(handle);
  });
}

inline Tensor new_zeros(const char* op, Shape shape, ScalarType type, const Tensor& like) {
  Tensor fresh = new_tensor(op, shape, type, like);
  return fresh.numel() == 0 ? fresh : torch::stable::zero_(fresh);
}

inline Tensor contiguous(const char* op, const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;  // saves a dispatcher call
  return allocated(op, tensor.sizes(), [&] { return torch::stable::contiguous(tensor); });
}

// On the device of `like`; a copy may still be in flight.
inline Tensor on_device_of(const char* op, const Tensor& tensor, const Tensor& like) {
  if (same_device(tensor, like)) return tensor;
  return allocated(op, tensor.sizes(),
                   [&] { return torch::stable::to(tensor, like.device(), /*non_blocking=*/true); });
}

// An argument on the CPU or on the device of the images: contiguous, on their device.
inline Tensor argument_on_device_of(const char* op, const char* name, const Tensor& tensor,
                                    const Tensor& images) {
  check(tensor.is_cpu() || same_device(tensor, images), op, "expected ", name,
        " on the CPU or on the device of images");
  return contiguous(op, on_device_of(op, tensor, images));
}

// Whether a tensor with these sides is small enough that bytes and offsets stay below 2^63.
inline bool is_addressable(Shape sides) {
  int64_t left = int64_t{1} << 59;  // elements
  for (const int64_t side : sides) left = side > 0 ? left / side : left;
  return left > 0;
}

inline Tensor converted(const char* op, const Tensor& tensor, ScalarType type) {
  if (tensor.scalar_type() == type) return tensor;
  return allocated(op, tensor.sizes(), [&] { return torch::stable::to(tensor, type); });
}

}  // namespace orbbec
