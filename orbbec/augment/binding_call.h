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

// Rows of float32 for each image.
struct TableRows {
  const float* rows = nullptr;
  int64_t stride = 0;  // elements between the rows of consecutive images; 0 if all share them
  int count = 0;
};

// The parameters of each image, on the device of the images.
struct AugmentTables {
  const float* matrices = nullptr;  // [N, 3, 3], output to source
  const int64_t* regions = nullptr;
  TableRows colors, boxes;
};

// The same as tensors of any caller, which are checked.
struct AugmentTensors {
  std::optional<Tensor> matrix, regions, colors, boxes, mix;
};

// The options of the operator, in the order of its schema.
struct AugmentCall {
  Tensor images;  // [N, C, H, W], a buffer of variable-size images, or with `takes_one` [C, H, W]
  std::optional<Tensor> layout;
  int64_t channels = 0;
  std::optional<AugmentTensors> tensors;  // in place of `tables`
  AugmentTables tables;
  std::vector<int64_t> size;
  std::string interpolation, border;
  std::vector<double> fill;
  std::vector<double> mean, std;
  double scale = 1, max_value = 255;
  bool contrast = false, takes_one = false;
  std::optional<Tensor> stored, forms;  // of images stored as JPEG planes
  // The output: a tensor, or a flat buffer and its layout, or a new tensor of a dtype and layout.
  std::optional<Tensor> out, out_layout;
  ScalarType dtype = ScalarType::Byte;
  bool channels_last = false;
};

// Defined in augment/binding.cpp.
Tensor run_augment(const AugmentCall& call);

// Calls `launch` with the arguments for `source`, which is on the device of `call.images`, and
// returns the results. Without matrices, `launch` provides the transform.
Tensor augment_from(AnyImages source, const AugmentCall& call,
                    const std::function<void(const AugmentArguments&)>& launch);

}  // namespace orbbec
