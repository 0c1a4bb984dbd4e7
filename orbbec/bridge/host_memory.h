// Memory on the host for numbers that go to the device of the images. Included by bindings.
#pragma once

#include "memory.h"

namespace orbbec {

// Pinned where the images are on a CUDA device: for a copy from other memory the host waits until
// the device has done what was queued before.
inline Tensor new_host_tensor(const char* op, const std::vector<int64_t>& shape, ScalarType type,
                              const Tensor& images) {
  using torch::stable::detail::from;
  using torch::stable::detail::to;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  const auto make = images.is_cuda() ? aoti_torch_empty_strided_pinned : aoti_torch_empty_strided;
  return allocated(op, shape, [&] {
    AtenTensorHandle handle;
    STABLE_TORCH_ERROR_CODE_CHECK(make(static_cast<int64_t>(shape.size()), shape.data(),
                                       strides.data(), to<int32_t>(from(type)),
                                       aoti_torch_device_type_cpu(), 0, &handle));
    return Tensor(handle);
  });
}

}  // namespace orbbec
