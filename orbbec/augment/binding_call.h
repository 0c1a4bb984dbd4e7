// A call of `augment` from C++. Included by augment/binding.cpp, augment/crop/binding.cpp and
// plan/binding_run.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../bridge/torch_api.h"
#include "../core/image.h"

namespace orbbec {

struct AugmentArguments;

// The options of the operator, in the order of its schema.
struct AugmentCall {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels = 0;
  std::optional<Tensor> matrix;
  std::vector<int64_t> size;
  std::string interpolation, border;
  std::vector<double> fill;
  std::optional<Tensor> regions, colors, boxes, mix;
  std::vector<double> mean, std;
  double scale = 1, max_value = 255;
  bool contrast = false;
  std::optional<Tensor> stored, forms;  // of images stored as JPEG planes
  // The output: a tensor, or a flat buffer and its layout, or a new tensor of a dtype and layout.
  std::optional<Tensor> out, out_layout;
  ScalarType dtype = ScalarType::Byte;
  bool channels_last = false;
};

// Defined in augment/binding.cpp.
Tensor run_augment(const AugmentCall& call);

// Calls `launch` with the arguments for `source`, which is on the device of `call.images`, and
// returns the results. Without a matrix, `launch` provides the transform.
Tensor augment_from(const AnyImages& source, const AugmentCall& call,
                    const std::function<void(const AugmentArguments&)>& launch);

}  // namespace orbbec
