// A call of noise, pixel by pixel. Included by binding.cpp of each operator of this family.
#pragma once

#include "../bridge/noise.h"
#include "../bridge/pointwise.h"

namespace orbbec {

// Checks what all calls have, `set_numbers(arguments)` those of the operator, and launches. Writes
// into `out` if there is one.
template <class Arguments, class Call, class Numbers>
Tensor run_noise(const char* op, const Call& call, const Numbers& set_numbers,
                 void (*on_cpu)(const Arguments&, const ParallelFor&),
                 int (*on_cuda)(const Arguments&, void*), const Tensor* out = nullptr) {
  const Tensor& images = call.images;
  Arguments a{};
  a.source = source_images(op, images, call.layout, call.channels);
  check_pointwise_dtype(op, images, true);
  a.dtype = dtype_of(op, images);
  set_numbers(a);
  a.noise.key = key_of(call.seed, call.epoch);
  a.noise.position = checked_position(op, call.position);
  std::optional<Tensor> samples;  // outlives the launch
  if (call.sample_ids.has_value()) {
    samples = sample_ids_on(op, *call.sample_ids, images, a.source.count);
    a.noise.samples = static_cast<const int64_t*>(samples->const_data_ptr());
  }
  if (out != nullptr) check_output_like(op, images, call.layout, *out, a.source);
  const Tensor output =
      out != nullptr ? *out : new_pointwise_output(op, images, call.layout, a.source);
  if (output.numel() == 0 || a.source.count == 0) return output;
  a.output = pointwise_output(op, output, call.layout, a.source.channels);
  run_where(op, images, on_cpu, on_cuda, a);
  return output;
}

}  // namespace orbbec
