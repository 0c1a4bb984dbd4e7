// A call of `resize` from C++. Included by resize/binding.cpp, augment/crop/binding.cpp and
// plan/binding_run.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../bridge/torch_api.h"
#include "../core/image.h"

namespace orbbec {

struct ResizeArguments;

// The options of the operator, in the order of its schema.
struct ResizeCall {
  Tensor images;  // [N, C, H, W], a buffer of variable-size images, or with `takes_one` [C, H, W]
  std::optional<Tensor> layout;
  int64_t channels = 0;
  std::optional<Tensor> boxes;
  std::vector<int64_t> size;
  std::string interpolation;
  bool antialias = false, takes_one = false;
  std::string arithmetic;
  std::vector<int64_t> longest;
  std::optional<Tensor> flips, out;
};

// Defined in resize/binding.cpp.
Tensor run_resize(const ResizeCall& call);

// Calls `launch` with the arguments for results in `output`; `call.out` is not read.
void resize_into(const AnyImages& output, const ResizeCall& call,
                 const std::function<void(const ResizeArguments&)>& launch);

}  // namespace orbbec
