// Memory of a call that later calls reuse. Included by resize/binding.cpp.
#pragma once

#include <memory>
#include <vector>

#include "../feed/blocks.h"
#include "memory.h"

namespace orbbec {

// Memory for one call on the device of `like`. On the CPU later calls reuse it, since the system
// clears new pages.
inline std::shared_ptr<void> call_memory(const char* op, int64_t bytes, const Tensor& like) {
  const auto size = static_cast<size_t>(bytes);
  const bool is_on_host = like.is_cpu() && !runs_cuda_kernels(like);
  if (uint8_t* const block = is_on_host ? feed::shared_blocks.take(size) : nullptr) {
    return {block, [size](uint8_t* memory) { feed::shared_blocks.give(memory, size); }};
  }
  const Tensor tensor = new_tensor(op, std::vector<int64_t>{bytes}, ScalarType::Byte, like);
  return {tensor.mutable_data_ptr(), [tensor](void*) {}};
}

}  // namespace orbbec
