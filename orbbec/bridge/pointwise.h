// Shared by the bindings of pointwise operators: outputs laid out like the images, dense or
// variable-size, and one number per image.
#pragma once

#include "../core/image.h"
#include "images.h"

namespace orbbec {

// Bytes that follow the pixels of variable-size images in their storage: memory for the tables of
// an ImageBatch, which then needs no copy of the pixels (`pixels_with_tables` in pointwise.py).
inline int64_t memory_for_tables(int64_t count) {
  constexpr int64_t kAlways = 4096, kPerImage = 512;  // a row of the layout, and of a plan
  return kAlways + kPerImage * count;
}

// The output of an out variant is written while the table is read.
inline void check_apart_from_output(const char* op, const char* name, const Tensor& table) {
  if (output_of_variant != nullptr) check_apart(op, *output_of_variant, table, name);
}

// An output of the sizes and the dtype of the images: `[N, channels, H, W]`, with as many channels
// if no number is given, or a flat buffer with their table; of an out variant, its output.
inline Tensor new_pointwise_output(const char* op, const Tensor& images,
                                   const std::optional<Tensor>& layout, const AnyImages& source,
                                   std::optional<int64_t> channels = std::nullopt) {
  if (layout.has_value()) {
    const int64_t pixels = images.numel();
    check_apart_from_output(op, "layout", *layout);
    if (const auto out = take_output(op, {pixels}, images.scalar_type(), images)) return *out;
    Tensor whole = new_tensor(op, std::vector<int64_t>{pixels + memory_for_tables(source.count)},
                              images.scalar_type(), images);
    return torch::stable::narrow(whole, 0, 0, pixels);
  }
  const int64_t count = channels.value_or(source.channels);
  return new_images(op, images, {source.count, count, source.height, source.width},
                    count > 1 && reads_channels_last(source));
}

inline AnyImages pointwise_output(const char* op, const Tensor& output,
                                  const std::optional<Tensor>& layout, int64_t channels) {
  if (layout.has_value()) return ragged_images(op, output, *layout, channels);
  return dense_images(op, "output", output, output.mutable_data_ptr());
}

inline void check_pointwise_dtype(const char* op, const Tensor& images, bool doubles) {
  const ScalarType type = images.scalar_type();
  const bool known = type == ScalarType::Byte || type == ScalarType::Half ||
                     type == ScalarType::BFloat16 || type == ScalarType::Float ||
                     (doubles && type == ScalarType::Double);
  if (known) return;
  fail(op, "expected images of uint8, float16, bfloat16",
       doubles ? ", float32 or float64" : " or float32");
}

// float64 `[N]` or `[1]` on the device of the images.
inline const double* check_per_image(const char* op, const char* name,
                                     const std::optional<Tensor>& values, const Tensor& images,
                                     int64_t count) {
  if (!values.has_value()) return nullptr;
  return check_table<double>(op, name, *values, {count}, images);
}

}  // namespace orbbec
